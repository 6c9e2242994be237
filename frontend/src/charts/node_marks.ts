/**
 * The signs on the cell of a node, each a shape: whoever sees no colours, or a cell of eight pixels, sees them too.
 *
 * cordoned: hatched; draining: hatched both ways; tainted: the upper corner is cut off; under pressure: the lower one;
 * not ready: framed, and crossed out where nothing is written on the cell; unreachable: the same with one stroke and a
 * broken frame; asked for more than it has: a dot where the cell is too small to say so in per cent.
 */
const TEXT_FITS = 30; // cells from this size on are written on, and leave the middle free
const OUTLINED = 14;

/** What a cell of the grid shows of its node. */
export interface Cell {
  readonly name: string;
  readonly share: number;
  readonly pods: number;
  readonly cordoned: boolean;
  readonly draining: boolean;
  readonly tainted: boolean;
  readonly ready: boolean;
  readonly unreachable: boolean;
  readonly pressure: boolean;
}

export interface MarkColours {
  readonly ground: string; // what the cells lie on
  readonly ink: string; // readable on the cell
  readonly hatch: string;
  readonly warn: string;
  readonly bad: string;
}

interface Place {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly radius: number;
}

export function drawMarks(context: CanvasRenderingContext2D, cell: Cell, place: Place, colours: MarkColours): void {
  if (cell.cordoned || cell.draining) hatch(context, place, colours.hatch, cell.draining);
  if (cell.share > 1 && cell.ready && place.size < TEXT_FITS) dot(context, place, colours.ink);
  if (!cell.ready) crossOut(context, cell, place, colours);
  if (cell.tainted) cutCorner(context, place, colours);
  if (cell.pressure) fillCorner(context, place, colours);
}

export function box(context: CanvasRenderingContext2D, { x, y, size, radius }: Place): void {
  context.beginPath();
  context.roundRect(x, y, size, size, radius);
}

function hatch(context: CanvasRenderingContext2D, place: Place, colour: string, isCrossed: boolean): void {
  const { x, y, size } = place;
  context.save();
  box(context, place);
  context.clip();
  context.lineWidth = 1.5;
  context.strokeStyle = colour;
  context.beginPath();
  const step = size < OUTLINED ? 4 : 6;
  for (let offset = -size; offset < size; offset += step) {
    context.moveTo(x + offset, y + size);
    context.lineTo(x + offset + size, y);
  }
  // The other way with gaps: what is written on the cell has to be read.
  for (let offset = -size; isCrossed && offset < size; offset += 2 * step) {
    context.moveTo(x + offset, y);
    context.lineTo(x + offset + size, y + size);
  }
  context.stroke();
  context.restore();
}

function dot(context: CanvasRenderingContext2D, { x, y, size }: Place, colour: string): void {
  context.beginPath();
  context.arc(x + size / 2, y + size / 2, Math.max(1.5, size * 0.16), 0, 2 * Math.PI);
  context.fillStyle = colour;
  context.fill();
}

function crossOut(context: CanvasRenderingContext2D, cell: Cell, place: Place, colours: MarkColours): void {
  const { x, y, size, radius } = place;
  const width = size < 20 ? 1.5 : size < TEXT_FITS ? 2 : 3;
  box(context, { x: x + 1, y: y + 1, size: size - 2, radius });
  // On a ground of its own: the frame has to be seen on every colour.
  context.strokeStyle = colours.ground;
  context.lineWidth = 2 * width;
  context.stroke();
  context.strokeStyle = colours.bad;
  context.lineWidth = width;
  if (cell.unreachable) context.setLineDash([2 * width, 2 * width]);
  context.stroke();
  context.setLineDash([]);
  if (size >= TEXT_FITS) return; // it is written on
  const [left, bottom, length] = [x + 2, y + size - 2, size - 4];
  context.strokeStyle = colours.ink;
  context.beginPath();
  context.moveTo(left, bottom - length);
  context.lineTo(left + length, bottom);
  if (!cell.unreachable) {
    context.moveTo(left, bottom);
    context.lineTo(left + length, bottom - length);
  }
  context.stroke();
}

/** In the lower right, where nothing else is drawn. */
function fillCorner(context: CanvasRenderingContext2D, { x, y, size }: Place, colours: MarkColours): void {
  for (const [length, colour] of [
    [Math.max(4, size * 0.34), colours.ground],
    [Math.max(3, size * 0.34 - 2), colours.bad],
  ] as const) {
    context.beginPath();
    context.moveTo(x + size - length, y + size);
    context.lineTo(x + size, y + size);
    context.lineTo(x + size, y + size - length);
    context.fillStyle = colour;
    context.fill();
  }
}

function cutCorner(context: CanvasRenderingContext2D, { x, y, size }: Place, colours: MarkColours): void {
  const cut = Math.max(4, size * 0.34);
  corner(context, x + size, y, cut, colours.ground);
  if (size >= OUTLINED) corner(context, x + size, y, cut - 2, colours.warn);
}

function corner(context: CanvasRenderingContext2D, right: number, top: number, length: number, colour: string): void {
  context.beginPath();
  context.moveTo(right - length, top);
  context.lineTo(right, top);
  context.lineTo(right, top + length);
  context.fillStyle = colour;
  context.fill();
}
