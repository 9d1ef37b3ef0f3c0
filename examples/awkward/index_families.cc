// Option and union types: masks, tags and indices.
#include "examples/awkward/family.h"
#include "examples/awkward/kernel_words.h"

namespace slipway::awkward {
namespace {

// toindex[i] = i.
Compiled LocalIndex(const Device& device) {
  return MakeKernel("localindex",
                    [](Out<int64_t> toindex, Int length) { ForEach(length, [&](Int i) { toindex[i] = i; }); })
      .CompiledFor(device);
}

// toindex[i] = i if i < length, else -1; i < target.
Compiled IndexRpadAndClipAxis0(const Device& device) {
  return MakeKernel("index_rpad_and_clip_axis0",
                    [](Out<int64_t> toindex, Int target, Int length) {
                      ForEach(target, [&](Int i) { toindex[i] = Select(i < length, i, -1); });
                    })
      .CompiledFor(device);
}

// tostarts[i] = i * target, tostops[i] = (i + 1) * target.
Compiled IndexRpadAndClipAxis1(const Device& device) {
  return MakeKernel("index_rpad_and_clip_axis1",
                    [](Out<int64_t> tostarts, Out<int64_t> tostops, Int target, Int length) {
                      ForEach(length, [&](Int i) {
                        tostarts[i] = i * target;
                        tostops[i] = (i + 1) * target;
                      });
                    })
      .CompiledFor(device);
}

// toindex[toindexoffset + i] = fromindex[i].
template <class Index>
Compiled UnionFillIndex(const Device& device) {
  return MakeKernel("UnionArray_fillindex",
                    [](Out<int64_t> toindex, Int toindexoffset, In<Index> fromindex, Int length) {
                      ForEach(length, [&](Int i) { toindex[toindexoffset + i] = Wide(fromindex[i]); });
                    })
      .CompiledFor(device);
}

// toindex[toindexoffset + i] = i.
Compiled UnionFillIndexCount(const Device& device) {
  return MakeKernel("UnionArray_fillindex_count",
                    [](Out<int64_t> toindex, Int toindexoffset, Int length) {
                      ForEach(length, [&](Int i) { toindex[toindexoffset + i] = i; });
                    })
      .CompiledFor(device);
}

// toindex[i] = max(fromindex[i], 0).
template <class Index>
Compiled UnionFillNa(const Device& device) {
  return MakeKernel("UnionArray_fillna",
                    [](Out<int64_t> toindex, In<Index> fromindex, Int length) {
                      ForEach(length, [&](Int i) { toindex[i] = max(Wide(fromindex[i]), 0); });
                    })
      .CompiledFor(device);
}

// totags[totagsoffset + i] = fromtags[i] + base.
Compiled UnionFillTags(const Device& device) {
  return MakeKernel("UnionArray_filltags",
                    [](Out<int8_t> totags, Int totagsoffset, In<int8_t> fromtags, Int length, Int base) {
                      ForEach(length,
                              [&](Int i) { totags[totagsoffset + i] = Cast<int8_t>(Wide(fromtags[i]) + base); });
                    })
      .CompiledFor(device);
}

// totags[totagsoffset + i] = base.
Compiled UnionFillTagsConst(const Device& device) {
  return MakeKernel("UnionArray_filltags_const",
                    [](Out<int8_t> totags, Int totagsoffset, Int length, Int base) {
                      ForEach(length, [&](Int i) { totags[totagsoffset + i] = Cast<int8_t>(base); });
                    })
      .CompiledFor(device);
}

// Where outertags[i] == outerwhich and innertags[j] == innerwhich, with j = outerindex[i]:
// totags[i] = towhich, toindex[i] = innerindex[j] + base. Other positions are left alone.
template <class OuterTag, class OuterIndex, class InnerIndex>
Compiled UnionSimplify(const Device& device) {
  return MakeKernel("UnionArray_simplify",
                    [](Out<int8_t> totags, Out<int64_t> toindex, In<OuterTag> outertags, In<OuterIndex> outerindex,
                       In<int8_t> innertags, In<InnerIndex> innerindex, Int towhich, Int innerwhich, Int outerwhich,
                       Int length, Int base) {
                      ForEach(length, [&](Int i) {
                        If(Wide(outertags[i]) == outerwhich, [&] {
                          Int j = Wide(outerindex[i]);
                          If(Wide(innertags[j]) == innerwhich, [&] {
                            totags[i] = Cast<int8_t>(towhich);
                            toindex[i] = Wide(innerindex[j]) + base;
                          });
                        });
                      });
                    })
      .CompiledFor(device);
}

// Where fromtags[i] == fromwhich: totags[i] = towhich, toindex[i] = fromindex[i] + base. Other positions are left
// alone.
template <class Tag, class Index>
Compiled UnionSimplifyOne(const Device& device) {
  return MakeKernel("UnionArray_simplify_one",
                    [](Out<int8_t> totags, Out<int64_t> toindex, In<Tag> fromtags, In<Index> fromindex, Int towhich,
                       Int fromwhich, Int length, Int base) {
                      ForEach(length, [&](Int i) {
                        If(Wide(fromtags[i]) == fromwhich, [&] {
                          totags[i] = Cast<int8_t>(towhich);
                          toindex[i] = Wide(fromindex[i]) + base;
                        });
                      });
                    })
      .CompiledFor(device);
}

// For r < repetitions, j < indexlength: outindex[r * indexlength + j] = index[j] + r * regularsize where index[j] >= 0,
// else index[j].
Compiled MissingRepeat(const Device& device) {
  return MakeKernel("missing_repeat",
                    [](Out<int64_t> outindex, In<int64_t> index, Int indexlength, Int repetitions, Int regularsize) {
                      ForEach(indexlength * repetitions, [&](Int p) {
                        Int base = index[p % indexlength];
                        outindex[p] = Select(base >= 0, base + p / indexlength * regularsize, base);
                      });
                    })
      .CompiledFor(device);
}

// Whether bit p of a bit mask says "valid": bits are counted from the lowest of each byte, or from the highest.
Var<bool> BitIsValid(const In<uint8_t>& mask, Int p, Var<bool> validwhen, Var<bool> lsb_order) {
  Int place = p % 8;
  Int shift = Select(lsb_order, place, 7 - place);
  return (((Wide(mask[p / 8]) >> shift) & 1) != 0) == validwhen;
}

// tobytemask[p] = 1 where bit p is not valid, else 0; p < 8 * bitmasklength.
Compiled BitMaskToByteMask(const Device& device) {
  return MakeKernel("BitMaskedArray_to_ByteMaskedArray",
                    [](Out<int8_t> tobytemask, In<uint8_t> frombitmask, Int bitmasklength, Var<bool> validwhen,
                       Var<bool> lsb_order) {
                      ForEach(bitmasklength * 8, [&](Int p) {
                        tobytemask[p] = Cast<int8_t>(!BitIsValid(frombitmask, p, validwhen, lsb_order));
                      });
                    })
      .CompiledFor(device);
}

// toindex[p] = p where bit p is valid, else -1; p < 8 * bitmasklength.
Compiled BitMaskToIndex(const Device& device) {
  return MakeKernel("BitMaskedArray_to_IndexedOptionArray",
                    [](Out<int64_t> toindex, In<uint8_t> frombitmask, Int bitmasklength, Var<bool> validwhen,
                       Var<bool> lsb_order) {
                      ForEach(bitmasklength * 8, [&](Int p) {
                        toindex[p] = Select(BitIsValid(frombitmask, p, validwhen, lsb_order), p, -1);
                      });
                    })
      .CompiledFor(device);
}

// tomask[i] = 1 where theirmask[i] != 0 or (mymask[i] != 0) != validwhen, else 0.
Compiled ByteMaskOverlay(const Device& device) {
  return MakeKernel("ByteMaskedArray_overlay_mask",
                    [](Out<int8_t> tomask, In<int8_t> theirmask, In<int8_t> mymask, Int length, Var<bool> validwhen) {
                      ForEach(length, [&](Int i) {
                        tomask[i] = Cast<int8_t>(theirmask[i] != 0 || (mymask[i] != 0) != validwhen);
                      });
                    })
      .CompiledFor(device);
}

// toindex[i] = i where (mask[i] != 0) == validwhen, else -1.
Compiled ByteMaskToIndex(const Device& device) {
  return MakeKernel("ByteMaskedArray_toIndexedOptionArray",
                    [](Out<int64_t> toindex, In<int8_t> mask, Int length, Var<bool> validwhen) {
                      ForEach(length, [&](Int i) { toindex[i] = Select((mask[i] != 0) == validwhen, i, -1); });
                    })
      .CompiledFor(device);
}

// toindex[toindexoffset + i] = -1 where fromindex[i] < 0, else fromindex[i] + base.
template <class Index>
Compiled IndexedFill(const Device& device) {
  return MakeKernel("IndexedArray_fill",
                    [](Out<int64_t> toindex, Int toindexoffset, In<Index> fromindex, Int length, Int base) {
                      ForEach(length, [&](Int i) {
                        Int index = Wide(fromindex[i]);
                        toindex[toindexoffset + i] = Select(index < 0, -1, index + base);
                      });
                    })
      .CompiledFor(device);
}

// toindex[toindexoffset + i] = i + base.
Compiled IndexedFillCount(const Device& device) {
  return MakeKernel("IndexedArray_fill_count",
                    [](Out<int64_t> toindex, Int toindexoffset, Int length, Int base) {
                      ForEach(length, [&](Int i) { toindex[toindexoffset + i] = i + base; });
                    })
      .CompiledFor(device);
}

// toindex[i] = -1 where mask[i] != 0, else fromindex[i].
template <class Index>
Compiled IndexedOverlayMask(const Device& device) {
  return MakeKernel("IndexedArray_overlay_mask",
                    [](Out<int64_t> toindex, In<int8_t> mask, In<Index> fromindex, Int length) {
                      ForEach(length, [&](Int i) { toindex[i] = Select(mask[i] != 0, -1, Wide(fromindex[i])); });
                    })
      .CompiledFor(device);
}

// toindex[i] = i for i < lenindex; toindex[lenindex] = -1.
Compiled IndexedNumNullUnique(const Device& device) {
  return MakeKernel("IndexedArray_numnull_unique_64",
                    [](Out<int64_t> toindex, Int lenindex) {
                      ForEach(lenindex + 1, [&](Int i) { toindex[i] = Select(i < lenindex, i, -1); });
                    })
      .CompiledFor(device);
}

// outoffsets[i] = starts[i] for i < startslength; outoffsets[startslength] = outindexlength.
Compiled IndexedFixOffsets(const Device& device) {
  return MakeKernel(
             "IndexedArray_reduce_next_fix_offsets_64",
             [](Out<int64_t> outoffsets, In<int64_t> starts, Int startslength, Int outindexlength) {
               ForEach(startslength + 1, [&](Int i) {
                 If(i < startslength, [&] { outoffsets[i] = starts[i]; }).Else([&] { outoffsets[i] = outindexlength; });
               });
             })
      .CompiledFor(device);
}

// For bin b and i in [offsets[b], offsets[b + 1]): v = nextoffsets[b] + i - offsets[b];
// tocarry[i] = v if v < nextoffsets[b + 1], else -1. `starts` is not used.
Compiled IndexedLocalPrepareNext(const Device& device) {
  return MakeKernel(
             "IndexedArray_local_preparenext_64",
             [](Out<int64_t> tocarry, In<int64_t> starts, In<int64_t> offsets, In<int64_t> nextoffsets, Int outlength) {
               ForEach(outlength, [&](Int b) {
                 For(Range(offsets[b], offsets[b + 1]), [&](Int i) {
                   Int v = nextoffsets[b] + (i - offsets[b]);
                   tocarry[i] = Select(v < nextoffsets[b + 1], v, -1);
                 });
               });
             })
      .CompiledFor(device);
}

}  // namespace

std::vector<Family> IndexFamilies() {
  const auto length = [](Scalars& s) { return s["length"]; };
  const auto bits = [](Scalars& s) { return s["bitmasklength"] * 8; };
  return {
      {"localindex", length, {LocalIndex}},
      {"index_rpad_and_clip_axis0", [](Scalars& s) { return s["target"]; }, {IndexRpadAndClipAxis0}},
      {"index_rpad_and_clip_axis1", length, {IndexRpadAndClipAxis1}},
      {"UnionArray_fillindex", length, {UnionFillIndex<int32_t>, UnionFillIndex<int64_t>, UnionFillIndex<uint32_t>}},
      {"UnionArray_fillindex_count", length, {UnionFillIndexCount}},
      {"UnionArray_fillna", length, {UnionFillNa<int32_t>, UnionFillNa<int64_t>, UnionFillNa<uint32_t>}},
      {"UnionArray_filltags", length, {UnionFillTags}},
      {"UnionArray_filltags_const", length, {UnionFillTagsConst}},
      {"UnionArray_simplify",
       length,
       {UnionSimplify<int64_t, int64_t, int64_t>, UnionSimplify<int8_t, int32_t, int32_t>,
        UnionSimplify<int8_t, int32_t, int64_t>, UnionSimplify<int8_t, int32_t, uint32_t>,
        UnionSimplify<int8_t, int64_t, int32_t>, UnionSimplify<int8_t, int64_t, int64_t>,
        UnionSimplify<int8_t, int64_t, uint32_t>, UnionSimplify<int8_t, uint32_t, int32_t>,
        UnionSimplify<int8_t, uint32_t, int64_t>, UnionSimplify<int8_t, uint32_t, uint32_t>}},
      {"UnionArray_simplify_one",
       length,
       {UnionSimplifyOne<int64_t, int64_t>, UnionSimplifyOne<int8_t, int32_t>, UnionSimplifyOne<int8_t, int64_t>,
        UnionSimplifyOne<int8_t, uint32_t>}},
      {"missing_repeat", [](Scalars& s) { return s["indexlength"] * s["repetitions"]; }, {MissingRepeat}},
      {"BitMaskedArray_to_ByteMaskedArray", bits, {BitMaskToByteMask}},
      {"BitMaskedArray_to_IndexedOptionArray", bits, {BitMaskToIndex}},
      {"ByteMaskedArray_overlay_mask", length, {ByteMaskOverlay}},
      {"ByteMaskedArray_toIndexedOptionArray", length, {ByteMaskToIndex}},
      {"IndexedArray_fill", length, {IndexedFill<int32_t>, IndexedFill<int64_t>, IndexedFill<uint32_t>}},
      {"IndexedArray_fill_count", length, {IndexedFillCount}},
      {"IndexedArray_overlay_mask",
       length,
       {IndexedOverlayMask<int32_t>, IndexedOverlayMask<int64_t>, IndexedOverlayMask<uint32_t>}},
      {"IndexedArray_numnull_unique_64", [](Scalars& s) { return s["lenindex"] + 1; }, {IndexedNumNullUnique}},
      {"IndexedArray_reduce_next_fix_offsets_64",
       [](Scalars& s) { return s["startslength"] + 1; },
       {IndexedFixOffsets}},
      {"IndexedArray_local_preparenext_64", [](Scalars& s) { return s["outlength"]; }, {IndexedLocalPrepareNext}},
  };
}

}  // namespace slipway::awkward
