/** What the service demands of a token, and how one is used. */
export const DAYS_MOST = 366;
export const DAYS_USUAL = 90;
/** The token with which ./ksched itself asks, made anew whenever the service starts. */
export const COMMAND_LINE = "command-line";
const DAY_MS = 24 * 3600 * 1000;

export function isTokenName(text: string): boolean {
  return /^[a-z0-9]([-._a-z0-9]{0,58}[a-z0-9])?$/.test(text);
}

export function isDays(days: number | null): days is number {
  return days !== null && Number.isInteger(days) && days >= 1 && days <= DAYS_MOST;
}

export function endOf(days: number, now = Date.now()): number {
  return now + days * DAY_MS;
}

/** A command that shows that the token works. */
export function curlOf(server: string, token: string): string {
  return `curl -H "Authorization: Bearer ${token}" ${server}/api/clusters`;
}
