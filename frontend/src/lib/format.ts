/** Quantities as people read them. CPU is in millicores, memory and storage in bytes, times in ms or µs as named. */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const BINARY = ["B", "Ki", "Mi", "Gi", "Ti", "Pi"];

export function cpu(milli: number): string {
  if (milli < 1000 && milli % 1000 !== 0) return `${milli}m`;
  return milli % 1000 === 0 || milli >= 100_000 ? WHOLE.format(milli / 1000) : trim(milli / 1000);
}

export function bytes(value: number): string {
  let unit = 0;
  let rest = value;
  while (Math.abs(rest) >= 1024 && unit < BINARY.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${rest} B` : `${trim(rest)} ${BINARY[unit]}`;
}

export function quantity(resource: string, value: number): string {
  if (resource === "cpu") return cpu(value);
  if (resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-"))
    return bytes(value);
  return WHOLE.format(value);
}

/** 1 h 5 min, 12 s, 0 s: two units at most, or one; never negative. */
export function span(ms: number, units: 1 | 2 = 2): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  const both = units === 2;
  if (minutes < 60) return both && minutes < 10 && seconds % 60 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return both && minutes % 60 && hours < 10 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return `${Math.floor(hours / 24)} d`;
}

export function duration(us: number): string {
  return us < 1000 ? `${us} µs` : us < 1_000_000 ? `${trim(us / 1000)} ms` : `${trim(us / 1_000_000)} s`;
}

function trim(value: number): string {
  return value >= 100
    ? value.toFixed(0)
    : value >= 10
      ? value.toFixed(1).replace(/\.0$/, "")
      : value.toFixed(2).replace(/\.?0+$/, "");
}
