/**
 * Nodes by zone as cells on a canvas: colour is the share of the tightest resource, a ring flashes when a pod arrives.
 * Painted only when something changed, and then only the cells that did: with thousands of them all would take longer than
 * a frame. Cells shrink until all of them fit the height, down to a size still hit by a mouse.
 * From there on the canvas grows, and the page with it: no row is hidden in a box that scrolls.
 */
import { fitted, sharedStart } from "../lib/names";
import { box, type Cell, drawMarks } from "./node_marks";

export interface Zone {
  readonly label: string;
  readonly cells: readonly Cell[];
}

export interface GridData {
  readonly zones: readonly Zone[];
  readonly selected: string | null;
  readonly isPast: boolean; // no pod arrives: the state before may be of any other moment
  readonly podsText: (count: number) => string;
}

export interface GridEvents {
  readonly hover: (cell: Cell | null, x: number, y: number) => void;
  readonly open: (cell: Cell) => void;
}

export interface NodeGrid {
  update(data: GridData): void;
  repaint(): void; // colours have changed
  destroy(): void;
}

interface Place {
  readonly x: number;
  readonly y: number;
}

interface Placed extends Place {
  readonly cell: Cell;
}

/** In whole pixels of the screen, as all places are: to clear the gap takes nothing of the cells beside it. */
interface Spacing {
  readonly size: number; // of a cell, which alone may end within a pixel
  readonly gap: number; // room for a ring
  readonly step: number; // from one cell to the next
}

interface Layout extends Spacing {
  readonly height: number;
  readonly places: readonly Place[]; // of the cells of all zones, one after the other
  readonly labels: readonly { readonly text: string; readonly x: number; readonly y: number; readonly width: number }[];
}

const TALLEST = 620; // pixels, while cells of the smallest size fit that
const LABEL_HEIGHT = 24;
const ZONE_GAP = 18;
const ROW_GAP = ZONE_GAP / 2;
const LARGEST = 72;
const ROOM_FOR_PODS = 50; // cells from this size on also say how many pods they hold
const SMALLEST = 8;
const FLASH_MS = 900;
const FADE_STEP_MS = 120; // more than between two frames of a busy cluster, which show what has faded as well
const STEPS = 8; // colours --util-0 … --util-7
/** Up to this one the steps bear --util-ink-low, above it --util-ink-high. */
export const LAST_LIGHT_STEP = 4;

export function nodeGrid(host: HTMLElement, canvas: HTMLCanvasElement, events: GridEvents): NodeGrid {
  const context = canvas.getContext("2d");
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  let data: GridData = { zones: [], selected: null, isPast: false, podsText: String };
  let cells: readonly Cell[] = []; // of all zones
  let layout: Layout = { ...spacingOf(LARGEST, 1), height: 0, places: [], labels: [] };
  let shape = "";
  let drawn: readonly Cell[] = []; // what stands at each place of the layout
  let ringed = new Set<string>(); // cells that stand there with a ring
  let colours = readColours(host);
  let hovered: string | null = null;
  let frame = 0;
  let fading = 0;
  let lettered = false;
  let pods: ReadonlyMap<string, number> = new Map(); // on each node
  const flashes = new Map<string, number>();

  const resize = new ResizeObserver(() => {
    shape = "";
    schedule();
  });
  resize.observe(host);

  function schedule(): void {
    if (!frame) frame = requestAnimationFrame(paint);
  }

  function drawAll(): void {
    lettered = false;
    schedule();
  }

  function paint(now: number): void {
    frame = 0;
    if (!context || !host.clientWidth) return;
    const fresh = place() || !lettered;
    const scale = pixelsOfScreen();
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.textBaseline = "middle";
    if (fresh) {
      // Letters cost more than cells: they are painted again only when they moved.
      context.clearRect(0, 0, canvas.width / scale, canvas.height / scale);
      context.font = `600 12px ${colours.font}`;
      context.textAlign = "left";
      context.fillStyle = colours.muted;
      const shared = sharedStart(data.zones.map((zone) => zone.label));
      for (const { text, x, y, width } of layout.labels) {
        const fits = (part: string): boolean => context.measureText(part).width <= width;
        context.fillText(fitted(text, shared, fits), x, y + 8);
      }
      lettered = true;
      drawn = [];
    }
    for (const [name, start] of flashes) if (now - start > FLASH_MS) flashes.delete(name);
    const rings = new Set([...flashes.keys(), ...[hovered, data.selected].filter((name) => name !== null)]);
    const stale: Placed[] = [];
    layout.places.forEach((place, index) => {
      const cell = cells[index] as Cell;
      if (drawn[index] !== cell || rings.has(cell.name) || ringed.has(cell.name)) stale.push({ ...place, cell });
    });
    // All before the first is drawn: the gap between two cells is room for the rings of both.
    const { gap } = layout;
    const wide = layout.step + gap;
    if (!fresh) for (const { x, y } of stale) context.clearRect(x - gap, y - gap, wide, wide);
    context.textAlign = "center";
    for (const placed of stale) drawCell(context, placed, now);
    drawn = cells;
    ringed = rings;
    // What fades needs no more than this; anything new is painted with the next frame.
    clearTimeout(fading);
    if (flashes.size) fading = window.setTimeout(schedule, FADE_STEP_MS);
  }

  function drawCell(context: CanvasRenderingContext2D, { cell, x, y }: Placed, now: number): void {
    const { size, gap } = layout;
    const radius = size >= 24 ? 6 : size >= 14 ? 3 : 1.5;
    const step = cell.share > 1 ? STEPS : stepOf(cell.share);
    box(context, { x, y, size, radius });
    context.fillStyle = step === STEPS ? colours.over : (colours.steps[step] ?? colours.over);
    context.fill();
    const ink = step > LAST_LIGHT_STEP ? colours.inkHigh : colours.inkLow;
    drawMarks(context, cell, { x, y, size, radius }, { ...colours, ink });
    if (size >= 30) {
      context.fillStyle = ink;
      const two = size >= ROOM_FOR_PODS;
      context.font = `650 ${two ? 14 : size >= 40 ? 12 : 10}px ${colours.font}`;
      context.fillText(`${Math.round(cell.share * 100)}%`, x + size / 2, y + size / 2 + (two ? -6 : 0.5));
      if (two) {
        context.font = `500 11px ${colours.font}`;
        context.fillText(data.podsText(cell.pods), x + size / 2, y + size / 2 + 11);
      }
    }
    const ring = (colour: string, thick: number): void => {
      const width = Math.min(thick, gap);
      context.lineWidth = width;
      context.strokeStyle = colour;
      box(context, { x: x - width / 2, y: y - width / 2, size: size + width, radius: radius + width / 2 });
      context.stroke();
    };
    const start = flashes.get(cell.name);
    if (start !== undefined) {
      context.globalAlpha = Math.max(0, 1 - (now - start) / FLASH_MS);
      ring(colours.flash, size >= 20 ? 3 : 2);
      context.globalAlpha = 1;
    }
    if (cell.name === hovered || cell.name === data.selected) {
      ring(cell.name === data.selected ? colours.accent : colours.text, 2);
    }
  }

  /** Finds every cell its place; says whether places have changed. */
  function place(): boolean {
    const width = host.clientWidth;
    const room = Math.min(host.clientHeight, TALLEST);
    const scale = pixelsOfScreen();
    const zones = data.zones.map((zone) => `${zone.label}=${zone.cells.length}`).join();
    const wanted = `${width}:${room}:${scale}:${data.podsText(0)}:${zones}`; // texts change with the language
    if (wanted === shape) return false;
    layout = layOut(data.zones, width, room, scale);
    shape = wanted;
    const height = Math.max(layout.height, 1);
    if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
      canvas.width = Math.round(width * scale);
      canvas.height = Math.round(height * scale);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    return true;
  }

  function at(event: MouseEvent): Cell | null {
    const bounds = canvas.getBoundingClientRect();
    const x = event.clientX - bounds.left;
    const y = event.clientY - bounds.top;
    const size = layout.size + 1;
    const index = layout.places.findIndex(
      (place) => x >= place.x - 1 && x < place.x + size && y >= place.y - 1 && y < place.y + size,
    );
    return cells[index] ?? null;
  }

  function onMove(event: MouseEvent): void {
    const cell = at(event);
    if ((cell?.name ?? null) !== hovered) {
      hovered = cell?.name ?? null;
      canvas.style.cursor = cell ? "pointer" : "default";
      schedule();
    }
    events.hover(cell, event.clientX, event.clientY);
  }

  function onLeave(): void {
    hovered = null;
    events.hover(null, 0, 0);
    schedule();
  }

  function onClick(event: MouseEvent): void {
    const cell = at(event);
    if (cell) events.open(cell);
  }

  canvas.addEventListener("mousemove", onMove);
  canvas.addEventListener("mouseleave", onLeave);
  canvas.addEventListener("click", onClick);
  canvas.addEventListener("contextrestored", drawAll); // it comes back empty

  return {
    update(next) {
      const now = performance.now();
      data = next;
      cells = next.zones.flatMap((zone) => zone.cells);
      for (const cell of cells) {
        const before = pods.get(cell.name) ?? cell.pods;
        if (!calm && !next.isPast && cell.pods > before) flashes.set(cell.name, now);
      }
      pods = new Map(cells.map((cell) => [cell.name, cell.pods])); // and none of nodes that are gone
      schedule();
    },
    repaint() {
      colours = readColours(host);
      drawAll();
    },
    destroy() {
      cancelAnimationFrame(frame);
      clearTimeout(fading);
      resize.disconnect();
      canvas.removeEventListener("mousemove", onMove);
      canvas.removeEventListener("mouseleave", onLeave);
      canvas.removeEventListener("click", onClick);
      canvas.removeEventListener("contextrestored", drawAll);
    },
  };
}

/** The colour of a share between 0 and 1; an empty node has one of its own. */
export function stepOf(share: number): number {
  return share <= 0 ? 0 : Math.min(STEPS - 1, 1 + Math.floor(share * (STEPS - 1) * 0.999));
}

/** Zones side by side where there is room, cells as large as fit the height. `scale`: pixels of the screen in one of ours. */
export function layOut(zones: readonly Zone[], width: number, height: number, scale = 1): Layout {
  const columns = Math.max(1, Math.min(zones.length, Math.floor((width + ZONE_GAP) / (150 + ZONE_GAP))));
  const columnWidth = (width - ZONE_GAP * (columns - 1)) / columns;
  const rows = Array.from({ length: Math.ceil(zones.length / columns) }, (_, row) =>
    zones.slice(row * columns, (row + 1) * columns),
  );
  let spacing = spacingOf(LARGEST, scale);
  while (heightOf(rows, columnWidth, spacing) > height && spacing.size > SMALLEST) {
    spacing = spacingOf(spacing.size - 1, scale);
  }
  return {
    ...spacing,
    height: heightOf(rows, columnWidth, spacing),
    ...placeZones(rows, columnWidth, spacing, scale),
  };
}

function placeZones(
  rows: readonly (readonly Zone[])[],
  columnWidth: number,
  spacing: Spacing,
  scale: number,
): Pick<Layout, "places" | "labels"> {
  const whole = (length: number) => Math.floor(length * scale) / scale;
  const { step } = spacing;
  const perRow = cellsInRow(columnWidth, spacing);
  const places: Place[] = [];
  const labels: { text: string; x: number; y: number; width: number }[] = [];
  let top = 0;
  for (const row of rows) {
    row.forEach((zone, column) => {
      const left = column * (columnWidth + ZONE_GAP);
      labels.push({ text: zone.label, x: left + 2, y: top, width: columnWidth - 4 });
      zone.cells.forEach((_, index) => {
        const x = whole(left + 2) + (index % perRow) * step;
        const y = whole(top + LABEL_HEIGHT) + Math.floor(index / perRow) * step;
        places.push({ x, y });
      });
    });
    top += heightOfRow(row, columnWidth, spacing) + ROW_GAP;
  }
  return { places, labels };
}

/** How high rows of zones are with cells of that spacing. */
function heightOf(rows: readonly (readonly Zone[])[], columnWidth: number, spacing: Spacing): number {
  return rows.reduce((sum, row) => sum + heightOfRow(row, columnWidth, spacing) + ROW_GAP, -ROW_GAP);
}

function heightOfRow(row: readonly Zone[], columnWidth: number, spacing: Spacing): number {
  const most = Math.max(...row.map((zone) => zone.cells.length));
  return LABEL_HEIGHT + Math.ceil(most / cellsInRow(columnWidth, spacing)) * spacing.step;
}

function cellsInRow(columnWidth: number, { gap, step }: Spacing): number {
  return Math.max(1, Math.floor((columnWidth - 4 + gap) / step));
}

/** However few pixels the screen has, one of them is between two cells. */
export function spacingOf(size: number, scale: number): Spacing {
  const wanted = size >= 24 ? 5 : size >= 14 ? 3 : 2;
  const gap = Math.max(1, Math.floor(wanted * scale));
  return { size, gap: gap / scale, step: (Math.ceil(size * scale) + gap) / scale };
}

function pixelsOfScreen(): number {
  return devicePixelRatio || 1;
}

function readColours(host: HTMLElement) {
  const style = getComputedStyle(host);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    steps: Array.from({ length: STEPS }, (_, step) => read(`--util-${step}`)),
    over: read("--util-over"),
    inkLow: read("--util-ink-low"),
    inkHigh: read("--util-ink-high"),
    hatch: read("--util-hatch"),
    ground: read("--surface"),
    flash: read("--flash"),
    text: read("--text"),
    muted: read("--muted"),
    accent: read("--accent"),
    warn: read("--warn"),
    bad: read("--bad"),
    font: style.fontFamily,
  };
}
