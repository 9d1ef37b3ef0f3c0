// What the kernels of formulas have in common: their parameters, and an element of the loop, read, computed, written.
#ifndef SLIPWAY_JIT_OPS_ELEMENT_WRITER_H_
#define SLIPWAY_JIT_OPS_ELEMENT_WRITER_H_

#include <array>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "jit/builder.h"
#include "jit/ops/elementwise_kernel.h"
#include "jit/ops/team.h"
#include "jit/text/emit.h"
#include "jit/text/program.h"

namespace slipway::elementwise {

class ElementWriter {
 public:
  // The program, its typing and the specialisation are referred to. `origin` may be null.
  ElementWriter(const text::Program& program, const text::Typing& typing, const Specialization& specialization,
                const std::string& name, KernelOrigin* origin);

  ir::Builder& builder() { return builder_; }
  const text::Program& program() const { return program_; }
  const text::Typing& typing() const { return typing_; }
  const Specialization& spec() const { return spec_; }

  // Outputs, inputs, views and extents, in this order. Then those of kernels of other kinds.
  void AddParameters();
  void AddOffsets();                                            // Of segments.
  ir::ParamId AddNumber(const std::string& name);               // Of the index type.
  std::vector<ir::ParamId> AddStates();                         // An array for each of StatesOf.
  ir::ParamId AddLinear(const std::string& name, DType dtype);  // A contiguous array of rank 1.

  DType SignedIndex() const { return narrow() ? DType::kInt32 : DType::kInt64; }
  DType UnsignedIndex() const { return narrow() ? DType::kUInt32 : DType::kUInt64; }
  ir::ValueId Literal(int64_t value) { return builder_.Constant(SignedIndex(), static_cast<uint64_t>(value)); }
  ir::ValueId UnsignedLiteral(int64_t value) {
    return builder_.Constant(UnsignedIndex(), static_cast<uint64_t>(value));
  }
  ir::ValueId BlockNumber() { return builder_.Cast(SignedIndex(), builder_.Special(ir::SpecialRegister::kBlockX)); }
  // How many elements the loop has. Elements are written after it was asked for.
  ir::ValueId Size();

  // What the program sees of an element, by its number. All inputs are read before any output is written, so that an
  // output may be an input.
  text::Site ReadSite(ir::ValueId index);
  // Computes and writes an element.
  absl::Status WriteElement(ir::ValueId index, text::SharedReductions* shared = nullptr);
  // As many neighbours as a thread has lanes, each array in one access. Only for programs that neither ask for their
  // place nor take arrays otherwise; see LanesFor.
  absl::Status WriteGroup(ir::ValueId index);

  // Reductions that threads share. The numbers of the operands that an element's have: from 0 on, or a segment.
  struct Range {
    ir::ValueId begin, end;
  };
  Range OperandsOf(ir::ValueId index);
  // The operations of the program's reductions. Where functions of the text are among them, in the block that merges.
  std::vector<text::Monoid> Monoids();
  // Merges the states of a share of an element's operands into `states`. Positions count from `begin` on.
  absl::Status MergeOperands(ir::ValueId index, ir::ValueId begin, const Team::Share& share, StateVariables& states);
  // The states that an element's own values are, for reductions that run along the elements.
  absl::StatusOr<std::vector<text::ReductionState>> StatesOfElement(ir::ValueId index, ir::ValueId position);
  void StoreStates(const std::vector<text::ReductionState>& states, const std::vector<ir::ParamId>& arrays,
                   ir::ValueId at);
  std::vector<text::ReductionState> LoadStates(const std::vector<ir::ParamId>& arrays, ir::ValueId at);

 private:
  bool narrow() const { return spec_.index == IndexWidth::kIndex32; }
  void LocateAt(const text::Parameter& parameter);
  void Share(size_t input, text::InputBinding& binding);
  text::Site MakeSite();
  void AddArrays(text::Site& site) const;  // That are read by index.
  void AddExtents(text::Site& site);
  ir::ParamId AddParameter(const std::string& name, const ArgumentForm& form, bool read_only);
  std::string FreeName(std::string name) const;
  void Unravel(ir::ValueId linear);
  absl::InlinedVector<ir::ValueId, kMaxRank> IndicesOf(const ArgumentForm& form) const;

  const text::Program& program_;
  const text::Typing& typing_;
  const Specialization& spec_;
  ir::Builder builder_;
  KernelOrigin* const origin_;
  std::vector<ir::ParamId> outputs_;
  std::vector<ir::ParamId> inputs_;
  std::vector<ir::ParamId> views_;
  std::array<ir::ParamId, kMaxRank> extents_{};
  ir::ParamId offsets_ = ir::kNone;
  ir::ValueId size_ = ir::kNone;
  ir::ValueId linear_ = ir::kNone;
  std::array<ir::ValueId, kMaxRank> indices_{};
};

}  // namespace slipway::elementwise

#endif  // SLIPWAY_JIT_OPS_ELEMENT_WRITER_H_
