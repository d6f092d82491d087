// The rows of a long list that are drawn, in blocks of a few, each at its own place. A block is drawn anew only
// if it becomes other rows, or if `draw` is another: while one scrolls, it is the same.
import type { ComponentChildren } from "preact";
import { memo } from "./memo";
import { useWindow, type Place, type Window } from "./window";

type Draw = (i: number) => ComponentChildren;

const Few = memo(function Few({ from, n, row, width, draw }: { from: number; n: number; row: number; width: number | undefined; draw: Draw }) {
  return <div role="presentation" class="block" style={{ top: from * row + "px", height: n * row + "px", width: width && width + "px" }}>{Array.from({ length: n }, (_, k) => draw(from + k))}</div>;
});

// Blocks are those of a window.
export function Blocks({ of, count, row, width, draw }: { of: Window; count: number; row: number; width?: number; draw: Draw }) {
  return <>{of.blocks.map(({ slot, at }) => <Few key={slot} from={at * of.step} n={Math.min(of.step, count - at * of.step)} row={row} width={width} draw={draw} />)}</>;
}

export function Rows({ place, ...list }: { place: Place; count: number; row: number; draw: Draw }) {
  return <Blocks of={useWindow(place.box, list.count, list.row)} {...list} />;
}
