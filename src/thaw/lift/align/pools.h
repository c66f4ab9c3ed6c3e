// Pooling to a fixed number of cells, whatever the size of the image, written one way.
//
// An exporter writes adaptive pooling by what divides at its size: an AveragePool whose windows tile the image where each
// side is a multiple of the cells, else the entries of each cell gathered, masked where its window is shorter than the
// longest, added one by one and divided by how many they are. Cell i of s along an axis of n averages from floor(i n / s) up
// to ceil((i + 1) n / s), so that windows of neighbours may share an entry. Adaptive maxima it writes where the side is a
// multiple, as a MaxPool. And some models cut any side into cells themselves, by windows of floor(n / s) entries.
#pragma once

#include "thaw/lift/align/traces.h"

namespace thaw::lifting {

// Where traces pool by other windows: where one of them has it taken apart, each becomes a product with a matrix of averages along
// each of the two axes, of as many cells. Where none has, the image is cut into cells by a Reshape. Where windows leave out what is
// behind them in some trace, they do elsewhere, too, and how long they are tells how many they are. Where they never do, a side that is no
// multiple of the cells is refused: nothing tells what becomes of the rest. Where windows share entries, as those of an axis of n
// that are floor(n / s) apart, and as long as the last one has left, each is cut out by itself. Pools of the traces are compared in their
// order; where they are not as many, or are something else, nothing is done.
void write_pools_alike(std::vector<Trace>& traces);

// Each that is taken apart, as such products, whatever other traces have: a side that has as many entries as cells leaves its pool
// out.
void write_parted_pools_as_products(ir::Model& model);

}  // namespace thaw::lifting
