// Option and union types: masks, tags and indices.
#include "examples/awkward/family.h"
#include "examples/awkward/kernel_words.h"

namespace slipway::awkward {
namespace {

// toindex[i] = i.
absl::StatusOr<Kernel> LocalIndex(const Device& device) {
  return Make(device, "localindex",
              [](Out<int64_t> toindex, Int length) { ForEach(length, [&](Int i) { toindex[i] = i; }); });
}

// toindex[i] = i if i < length, else -1; i < target.
absl::StatusOr<Kernel> IndexRpadAndClipAxis0(const Device& device) {
  return Make(device, "index_rpad_and_clip_axis0", [](Out<int64_t> toindex, Int target, Int length) {
    ForEach(target, [&](Int i) { toindex[i] = Select(i < length, i, -1); });
  });
}

// tostarts[i] = i * target, tostops[i] = (i + 1) * target.
absl::StatusOr<Kernel> IndexRpadAndClipAxis1(const Device& device) {
  return Make(device, "index_rpad_and_clip_axis1",
              [](Out<int64_t> tostarts, Out<int64_t> tostops, Int target, Int length) {
                ForEach(length, [&](Int i) {
                  tostarts[i] = i * target;
                  tostops[i] = (i + 1) * target;
                });
              });
}

// toindex[toindexoffset + i] = fromindex[i].
template <class Index>
absl::StatusOr<Kernel> UnionFillIndex(const Device& device) {
  return Make(device, "UnionArray_fillindex",
              [](Out<int64_t> toindex, Int toindexoffset, In<Index> fromindex, Int length) {
                ForEach(length, [&](Int i) { toindex[toindexoffset + i] = Wide(fromindex[i]); });
              });
}

// toindex[toindexoffset + i] = i.
absl::StatusOr<Kernel> UnionFillIndexCount(const Device& device) {
  return Make(device, "UnionArray_fillindex_count", [](Out<int64_t> toindex, Int toindexoffset, Int length) {
    ForEach(length, [&](Int i) { toindex[toindexoffset + i] = i; });
  });
}

// toindex[i] = max(fromindex[i], 0).
template <class Index>
absl::StatusOr<Kernel> UnionFillNa(const Device& device) {
  return Make(device, "UnionArray_fillna", [](Out<int64_t> toindex, In<Index> fromindex, Int length) {
    ForEach(length, [&](Int i) { toindex[i] = max(Wide(fromindex[i]), 0); });
  });
}

// totags[totagsoffset + i] = fromtags[i] + base.
absl::StatusOr<Kernel> UnionFillTags(const Device& device) {
  return Make(device, "UnionArray_filltags",
              [](Out<int8_t> totags, Int totagsoffset, In<int8_t> fromtags, Int length, Int base) {
                ForEach(length, [&](Int i) { totags[totagsoffset + i] = Cast<int8_t>(Wide(fromtags[i]) + base); });
              });
}

// totags[totagsoffset + i] = base.
absl::StatusOr<Kernel> UnionFillTagsConst(const Device& device) {
  return Make(device, "UnionArray_filltags_const", [](Out<int8_t> totags, Int totagsoffset, Int length, Int base) {
    ForEach(length, [&](Int i) { totags[totagsoffset + i] = Cast<int8_t>(base); });
  });
}

// Where outertags[i] == outerwhich and innertags[j] == innerwhich, with j = outerindex[i]:
// totags[i] = towhich, toindex[i] = innerindex[j] + base. Other positions are left alone.
template <class OuterTag, class OuterIndex, class InnerIndex>
absl::StatusOr<Kernel> UnionSimplify(const Device& device) {
  return Make(device, "UnionArray_simplify",
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
              });
}

// Where fromtags[i] == fromwhich: totags[i] = towhich, toindex[i] = fromindex[i] + base. Other positions are left
// alone.
template <class Tag, class Index>
absl::StatusOr<Kernel> UnionSimplifyOne(const Device& device) {
  return Make(device, "UnionArray_simplify_one",
              [](Out<int8_t> totags, Out<int64_t> toindex, In<Tag> fromtags, In<Index> fromindex, Int towhich,
                 Int fromwhich, Int length, Int base) {
                ForEach(length, [&](Int i) {
                  If(Wide(fromtags[i]) == fromwhich, [&] {
                    totags[i] = Cast<int8_t>(towhich);
                    toindex[i] = Wide(fromindex[i]) + base;
                  });
                });
              });
}

// For r < repetitions, j < indexlength: outindex[r * indexlength + j] = index[j] + r * regularsize where index[j] >= 0,
// else index[j].
absl::StatusOr<Kernel> MissingRepeat(const Device& device) {
  return Make(device, "missing_repeat",
              [](Out<int64_t> outindex, In<int64_t> index, Int indexlength, Int repetitions, Int regularsize) {
                ForEach(indexlength * repetitions, [&](Int p) {
                  Int base = index[p % indexlength];
                  outindex[p] = Select(base >= 0, base + p / indexlength * regularsize, base);
                });
              });
}

// Whether bit p of a bit mask says "valid": bits are counted from the lowest of each byte, or from the highest.
Bool BitIsValid(const In<uint8_t>& mask, Int p, Bool validwhen, Bool lsb_order) {
  const Int place = p % 8;
  const Int shift = Select(lsb_order, place, 7 - place);
  return (((Wide(mask[p / 8]) >> shift) & 1) != 0) == validwhen;
}

// tobytemask[p] = 1 where bit p is not valid, else 0; p < 8 * bitmasklength.
absl::StatusOr<Kernel> BitMaskToByteMask(const Device& device) {
  return Make(device, "BitMaskedArray_to_ByteMaskedArray",
              [](Out<int8_t> tobytemask, In<uint8_t> frombitmask, Int bitmasklength, Bool validwhen, Bool lsb_order) {
                ForEach(bitmasklength * 8, [&](Int p) {
                  tobytemask[p] = Cast<int8_t>(!BitIsValid(frombitmask, p, validwhen, lsb_order));
                });
              });
}

// toindex[p] = p where bit p is valid, else -1; p < 8 * bitmasklength.
absl::StatusOr<Kernel> BitMaskToIndex(const Device& device) {
  return Make(device, "BitMaskedArray_to_IndexedOptionArray",
              [](Out<int64_t> toindex, In<uint8_t> frombitmask, Int bitmasklength, Bool validwhen, Bool lsb_order) {
                ForEach(bitmasklength * 8,
                        [&](Int p) { toindex[p] = Select(BitIsValid(frombitmask, p, validwhen, lsb_order), p, -1); });
              });
}

// tomask[i] = 1 where theirmask[i] != 0 or (mymask[i] != 0) != validwhen, else 0.
absl::StatusOr<Kernel> ByteMaskOverlay(const Device& device) {
  return Make(device, "ByteMaskedArray_overlay_mask",
              [](Out<int8_t> tomask, In<int8_t> theirmask, In<int8_t> mymask, Int length, Bool validwhen) {
                ForEach(length,
                        [&](Int i) { tomask[i] = Cast<int8_t>(theirmask[i] != 0 || (mymask[i] != 0) != validwhen); });
              });
}

// toindex[i] = i where (mask[i] != 0) == validwhen, else -1.
absl::StatusOr<Kernel> ByteMaskToIndex(const Device& device) {
  return Make(device, "ByteMaskedArray_toIndexedOptionArray",
              [](Out<int64_t> toindex, In<int8_t> mask, Int length, Bool validwhen) {
                ForEach(length, [&](Int i) { toindex[i] = Select((mask[i] != 0) == validwhen, i, -1); });
              });
}

// toindex[toindexoffset + i] = -1 where fromindex[i] < 0, else fromindex[i] + base.
template <class Index>
absl::StatusOr<Kernel> IndexedFill(const Device& device) {
  return Make(device, "IndexedArray_fill",
              [](Out<int64_t> toindex, Int toindexoffset, In<Index> fromindex, Int length, Int base) {
                ForEach(length, [&](Int i) {
                  Int index = Wide(fromindex[i]);
                  toindex[toindexoffset + i] = Select(index < 0, -1, index + base);
                });
              });
}

// toindex[toindexoffset + i] = i + base.
absl::StatusOr<Kernel> IndexedFillCount(const Device& device) {
  return Make(device, "IndexedArray_fill_count", [](Out<int64_t> toindex, Int toindexoffset, Int length, Int base) {
    ForEach(length, [&](Int i) { toindex[toindexoffset + i] = i + base; });
  });
}

// toindex[i] = -1 where mask[i] != 0, else fromindex[i].
template <class Index>
absl::StatusOr<Kernel> IndexedOverlayMask(const Device& device) {
  return Make(device, "IndexedArray_overlay_mask",
              [](Out<int64_t> toindex, In<int8_t> mask, In<Index> fromindex, Int length) {
                ForEach(length, [&](Int i) { toindex[i] = Select(mask[i] != 0, -1, Wide(fromindex[i])); });
              });
}

// toindex[i] = i for i < lenindex; toindex[lenindex] = -1.
absl::StatusOr<Kernel> IndexedNumNullUnique(const Device& device) {
  return Make(device, "IndexedArray_numnull_unique_64", [](Out<int64_t> toindex, Int lenindex) {
    ForEach(lenindex + 1, [&](Int i) { toindex[i] = Select(i < lenindex, i, -1); });
  });
}

// outoffsets[i] = starts[i] for i < startslength; outoffsets[startslength] = outindexlength.
absl::StatusOr<Kernel> IndexedFixOffsets(const Device& device) {
  return Make(
      device, "IndexedArray_reduce_next_fix_offsets_64",
      [](Out<int64_t> outoffsets, In<int64_t> starts, Int startslength, Int outindexlength) {
        ForEach(startslength + 1, [&](Int i) {
          If(i < startslength, [&] { outoffsets[i] = starts[i]; }).Else([&] { outoffsets[i] = outindexlength; });
        });
      });
}

// For bin b and i in [offsets[b], offsets[b + 1]): v = nextoffsets[b] + i - offsets[b];
// tocarry[i] = v if v < nextoffsets[b + 1], else -1. `starts` is not used.
absl::StatusOr<Kernel> IndexedLocalPrepareNext(const Device& device) {
  return Make(
      device, "IndexedArray_local_preparenext_64",
      [](Out<int64_t> tocarry, In<int64_t> starts, In<int64_t> offsets, In<int64_t> nextoffsets, Int outlength) {
        ForEach(outlength, [&](Int b) {
          For(Range(offsets[b], offsets[b + 1]), [&](Int i) {
            Int v = nextoffsets[b] + (i - offsets[b]);
            tocarry[i] = Select(v < nextoffsets[b + 1], v, -1);
          });
        });
      });
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
