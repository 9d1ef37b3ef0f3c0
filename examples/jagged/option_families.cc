// Options: elements that may be missing, as a mask of bits or bytes says.
#include "examples/jagged/family.h"
#include "examples/jagged/kernel_words.h"
#include "examples/jagged/valid_elements.h"

namespace slipway::jagged {
namespace {

// Whether bit p of a bit mask says "valid": bits are counted from the lowest of each byte, or from the highest.
Bool BitIsValid(const In<uint8_t>& mask, const Int& p, const Bool& validwhen, const Bool& lsb_order) {
  const Int place = p % 8;
  const Int shift = Select(lsb_order, place, 7 - place);
  return (((Wide(mask[p / 8]) >> shift) & 1) != 0) == validwhen;
}

Bool ByteIsValid(const In<int8_t>& mask, const Int& i, const Bool& validwhen) { return (mask[i] != 0) == validwhen; }

}  // namespace

std::vector<Family> OptionFamilies() {
  const Size length = Of({"length"});
  const Size bits = [](Call& call) { return call["bitmasklength"] * 8; };
  return {
      // tobytemask[p] = 1 where bit p is not valid, else 0; p < 8 * bitmasklength.
      Map("BitMaskedArray_to_ByteMaskedArray", bits,
          [](Out<int8_t> tobytemask, In<uint8_t> frombitmask, Int bitmasklength, Bool validwhen, Bool lsb_order) {
            ForEach(bitmasklength * 8,
                    [&](Int p) { tobytemask[p] = Cast<int8_t>(!BitIsValid(frombitmask, p, validwhen, lsb_order)); });
          }),

      // toindex[p] = p where bit p is valid, else -1; p < 8 * bitmasklength.
      Map("BitMaskedArray_to_IndexedOptionArray", bits,
          [](Out<int64_t> toindex, In<uint8_t> frombitmask, Int bitmasklength, Bool validwhen, Bool lsb_order) {
            ForEach(bitmasklength * 8,
                    [&](Int p) { toindex[p] = Select(BitIsValid(frombitmask, p, validwhen, lsb_order), p, -1); });
          }),

      // tocarry = the positions of the valid elements, in order.
      Scanned("ByteMaskedArray_getitem_nextcarry", {length}, length,
              [](Scan rank, Out<int64_t> tocarry, In<int8_t> mask, Int length, Bool validwhen) {
                const auto is_valid = [&](Int i) { return ByteIsValid(mask, i, validwhen); };
                if (rank.Count(length, is_valid)) return;
                ForEach(length, [&](Int i) { If(is_valid(i), [&] { tocarry[rank[i]] = i; }); });
              }),

      // The same, and outindex[i] = the rank of i among them, -1 where it is not valid.
      Scanned("ByteMaskedArray_getitem_nextcarry_outindex", {length}, length,
              [](Scan rank, Out<int64_t> tocarry, Out<int64_t> outindex, In<int8_t> mask, Int length, Bool validwhen) {
                const auto is_valid = [&](Int i) { return ByteIsValid(mask, i, validwhen); };
                if (rank.Count(length, is_valid)) return;
                ForEach(length, [&](Int i) {
                  If(is_valid(i), [&] {
                    tocarry[rank[i]] = i;
                    outindex[i] = rank[i];
                  }).Else([&] { outindex[i] = -1; });
                });
              }),

      // numnull[0] = how many are not valid.
      Reduced("ByteMaskedArray_numnull", "numnull", 0, length,
              [](Out<int64_t> numnull, In<int8_t> mask, Int length, Bool validwhen) {
                SumInto(numnull[0], length, [&](Int i) { return !ByteIsValid(mask, i, validwhen); });
              }),

      // tomask[i] = 1 where theirmask[i] != 0 or mymask's element is not valid, else 0.
      Map("ByteMaskedArray_overlay_mask", length,
          [](Out<int8_t> tomask, In<int8_t> theirmask, In<int8_t> mymask, Int length, Bool validwhen) {
            ForEach(length,
                    [&](Int i) { tomask[i] = Cast<int8_t>(theirmask[i] != 0 || !ByteIsValid(mymask, i, validwhen)); });
          }),

      Scanned("ByteMaskedArray_reduce_next_64", {[](Call& call) { return call["outlength"] == 0 ? 0 : call["mask"]; }},
              Of({"mask"}, 1),
              [](Scan rank, Out<int64_t> nextcarry, Out<int64_t> nextoffsets, Out<int64_t> outindex, In<int8_t> mask,
                 In<int64_t> offsets, Int outlength, Bool validwhen) {
                ReduceNext(
                    rank, nextcarry, nextoffsets, outindex, mask.size(), offsets, outlength,
                    [&](Int i) { return ByteIsValid(mask, i, validwhen); }, [](Int i) { return i; });
              }),

      Scanned("ByteMaskedArray_reduce_next_nonlocal_nextshifts_64", {length}, length,
              [](Scan rank, Out<int64_t> nextshifts, In<int8_t> mask, Int length, Bool valid_when) {
                NextShifts(
                    rank, nextshifts, length, [&](Int i) { return ByteIsValid(mask, i, valid_when); },
                    [](Int) { return 0; });
              }),

      Scanned("ByteMaskedArray_reduce_next_nonlocal_nextshifts_fromshifts_64", {length}, length,
              [](Scan rank, Out<int64_t> nextshifts, In<int8_t> mask, Int length, Bool valid_when, In<int64_t> shifts) {
                NextShifts(
                    rank, nextshifts, length, [&](Int i) { return ByteIsValid(mask, i, valid_when); },
                    [&](Int i) { return shifts[i]; });
              }),

      // toindex[i] = i where it is valid, else -1.
      Map("ByteMaskedArray_toIndexedOptionArray", length,
          [](Out<int64_t> toindex, In<int8_t> mask, Int length, Bool validwhen) {
            ForEach(length, [&](Int i) { toindex[i] = Select(ByteIsValid(mask, i, validwhen), i, -1); });
          }),

      // toindex[i] = -1 where frommask[i] != 0, else the number of zeros in frommask before i.
      Scanned("IndexedOptionArray_rpad_and_clip_mask_axis1", {length}, length,
              [](Scan rank, Out<int64_t> toindex, In<int8_t> frommask, Int length) {
                const auto is_valid = [&](Int i) { return frommask[i] == 0; };
                if (rank.Count(length, is_valid)) return;
                ForEach(length, [&](Int i) { toindex[i] = Select(is_valid(i), rank[i], -1); });
              }),
  };
}

}  // namespace slipway::jagged
