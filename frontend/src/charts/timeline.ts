/** Attempts and bindings a second (left) and pending pods (right) over the last five minutes. A chunk of its own. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type Bucket, SERIES_SECONDS } from "../live/state";

export interface TimelineTexts {
  readonly attempts: string;
  readonly bound: string;
  readonly pending: string;
}

export interface Timeline {
  update(series: readonly Bucket[], nowMs: number): void;
  destroy(): void;
}

const MEAN_SECONDS = 5;

type Column = (number | null)[];
type Columns = [number[], Column, Column, Column];

export function timeline(host: HTMLElement, texts: TimelineTexts, language: string): Timeline {
  const style = getComputedStyle(host);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const font = `11px ${style.fontFamily}`;
  const axis = {
    stroke: colour("--faint"),
    font,
    ticks: { show: false },
    grid: { stroke: colour("--line-soft"), width: 1 },
  };
  const clock = new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit" });
  const plot = new uPlot(
    {
      width: Math.max(host.clientWidth, 100),
      height: Math.max(host.clientHeight, 80),
      legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      padding: [8, 4, 0, 0],
      scales: { x: { time: true }, rate: { range: fromZero }, count: { range: fromZero } },
      series: [
        {},
        {
          label: texts.attempts,
          scale: "rate",
          stroke: colour("--series-attempts"),
          width: 1.5,
          points: { show: false },
        },
        {
          label: texts.bound,
          scale: "rate",
          stroke: colour("--series-bound"),
          fill: colour("--series-bound-fill"),
          width: 1.5,
          points: { show: false },
        },
        {
          label: texts.pending,
          scale: "count",
          stroke: colour("--series-pending"),
          width: 1.5,
          dash: [4, 3],
          points: { show: false },
        },
      ],
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 24,
          space: 70,
          values: (_plot, ticks) => ticks.map((tick) => clock.format(tick * 1000)),
        },
        { ...axis, scale: "rate", size: 34 },
        { ...axis, scale: "count", side: 1, size: 40, grid: { show: false } },
      ],
    },
    [[], [], [], []],
    host,
  );
  const resize = new ResizeObserver(() => {
    if (host.clientWidth && host.clientHeight) plot.setSize({ width: host.clientWidth, height: host.clientHeight });
  });
  resize.observe(host);
  return {
    update: (series, nowMs) => plot.setData(columnsOf(series, nowMs)),
    destroy() {
      resize.disconnect();
      plot.destroy();
    },
  };
}

/**
 * One row for every second of the last five minutes: what was not told was nothing, and pending stays as it was.
 * Rates are means of five seconds: single seconds are spikes that say little.
 */
export function columnsOf(series: readonly Bucket[], nowMs: number): Columns {
  const end = Math.floor(nowMs / 1000);
  const columns: Columns = [[], [], [], []];
  const known = new Map(series.map((bucket) => [bucket.second, bucket]));
  let pending: number | null = null;
  for (const bucket of series) if (bucket.second <= end - SERIES_SECONDS) pending = bucket.pending;
  for (let second = end - SERIES_SECONDS + 1; second <= end; second += 1) {
    const bucket = known.get(second);
    if (bucket) pending = bucket.pending;
    columns[0].push(second);
    // Before the first thing known there was not nothing: nobody told.
    const told = pending !== null;
    columns[1].push(told ? mean(known, second, "attempts") : null);
    columns[2].push(told ? mean(known, second, "bound") : null);
    columns[3].push(pending);
  }
  return columns;
}

function mean(known: ReadonlyMap<number, Bucket>, second: number, what: "attempts" | "bound"): number {
  let sum = 0;
  for (let back = 0; back < MEAN_SECONDS; back += 1) sum += known.get(second - back)?.[what] ?? 0;
  return sum / MEAN_SECONDS;
}

function fromZero(_plot: uPlot, _min: number, max: number): [number, number] {
  return [0, Math.max(2, Math.ceil((max || 0) * 1.15))];
}
