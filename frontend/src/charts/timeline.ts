/** Attempts and bindings a second (left) and pending pods (right) over time; null is not drawn. A chunk of its own. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Columns } from "../live/throughput";

/** Between two labels of the time, at least one of these. */
const MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720];

export interface TimelineTexts {
  readonly attempts: string;
  readonly bound: string;
  readonly pending: string;
}

export interface Timeline {
  update(columns: Columns): void;
  destroy(): void;
}

/** `onHover` hears the row of the columns that the pointer is over, null when it left. */
export function timeline(
  host: HTMLElement,
  texts: TimelineTexts,
  language: string,
  onHover: (row: number | null) => void,
): Timeline {
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
      hooks: { setCursor: [(self) => onHover(self.cursor.idx ?? null)] },
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
          incrs: MINUTES.map((minutes) => minutes * 60), // labels have no seconds
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
    update: (columns) => plot.setData(columns),
    destroy() {
      resize.disconnect();
      plot.destroy();
    },
  };
}

function fromZero(_plot: uPlot, _min: number, max: number): [number, number] {
  return [0, Math.max(2, Math.ceil((max || 0) * 1.15))];
}
