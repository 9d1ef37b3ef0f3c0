// Which files a CUDA C++ source includes: what a cache has to look at beside the source.
#ifndef SLIPWAY_JIT_CUDA_INCLUDES_H_
#define SLIPWAY_JIT_CUDA_INCLUDES_H_

#include <string>
#include <string_view>
#include <vector>

#include "slipway/cuda.h"

namespace slipway {

struct IncludedFile {
  std::string path;
  std::string content;
  std::string stamp;  // StampOf before it was read.
};

// Of a file which it is, how long and when it was changed last; empty if it is not there.
std::string StampOf(const std::string& path);

// Without "." and "..", where that names the same file: behind a symbolic link, "link/.." is the folder of what it
// leads to.
std::string NormalPath(const std::string& path);

// The files that `source` includes, by way of others too, each once, in the order in which they are met. Directives
// count whether or not a comment or an #if hides them, names that are asked for with __has_include as well; files that
// are not found do not. `headers` are in memory and so no files, but what they include is looked for. `complete` is
// false where a name is made by a macro, and past 4,096 files or 64 MiB: then there may be more.
// Names in quotes are looked for beside the file that has them; `beside` is the folder of the source.
std::vector<IncludedFile> FindIncludes(std::string_view source, const std::string& beside,
                                       const std::vector<CudaHeader>& headers, const std::vector<std::string>& folders,
                                       bool* complete);

}  // namespace slipway

#endif  // SLIPWAY_JIT_CUDA_INCLUDES_H_
