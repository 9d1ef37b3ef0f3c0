// A ring of bound launches beside the ring of arguments, so that what is launched changes here, too.
#include <memory>
#include <vector>

#include "benchmarks/launch_case_types.h"
#include "slipway/bound_launch.h"

namespace slipway::launch_cases {
namespace {

template <class Case>
struct BoundRing;

template <class... Sources>
struct BoundRing<Case<Sources...>> {
  struct Node {
    const Node* next;
    const ArgumentSet* set;
    mutable BoundKernel<typename Sources::Param...> launch;
  };
  std::vector<Node> nodes;

  explicit BoundRing(const Bench& bench) {
    const auto kernel = LoadEmptyKernel(bench.device, Case<Sources...>());
    const ArgumentSet* set = bench.changing.first();
    nodes.reserve(ArgumentRing::kSets);
    for (int k = 0; k < ArgumentRing::kSets; ++k, set = set->next) {
      nodes.push_back({nullptr, set, kernel.Bind(ForSize(set->size), Sources::In(*set)...).value()});
    }
    for (int k = 0; k < ArgumentRing::kSets; ++k) nodes[k].next = &nodes[(k + 1) % ArgumentRing::kSets];
  }
};

template <class Case>
Run PrepareBound(const Bench& bench) {
  const auto ring = std::make_shared<const BoundRing<Case>>(bench);
  return [ring](const Stream& stream, int64_t launches) {
    Repeat(ring->nodes.data(), launches,
           [&](const auto& node) SLIPWAY_INLINE { return node.launch.Launch(stream).ok(); });
  };
}

template <class First, class... Rest>
const auto& FirstArgument(const ArgumentSet& set, Case<First, Rest...>) {
  return First::In(set);
}

template <class Case>
Run PrepareBoundAndSet(const Bench& bench) {
  const auto ring = std::make_shared<const BoundRing<Case>>(bench);
  return [ring](const Stream& stream, int64_t launches) {
    Repeat(ring->nodes.data(), launches, [&](const auto& node) SLIPWAY_INLINE {
      return node.launch.template Set<0>(FirstArgument(*node.set, Case())).ok() && node.launch.Launch(stream).ok();
    });
  };
}

}  // namespace

void AddBoundCases(std::vector<LaunchCase>* cases) {
  ForEachCase([&]<class C>(const char* name) { cases->push_back({"bound", name, PrepareBound<C>}); });
  ForEachCase([&]<class C>(const char* name) {
    if constexpr (!std::is_same_v<C, Case<>>) cases->push_back({"bound+set", name, PrepareBoundAndSet<C>});
  });
}

}  // namespace slipway::launch_cases
