/** The token that every request which changes something brings along: the service keeps it in a cookie. */

const CSRF_COOKIE = "ksched_csrf";

export function csrfToken(): string {
  for (const part of document.cookie.split(";")) {
    const [name, value] = part.trim().split("=");
    if (name === CSRF_COOKIE) return decodeURIComponent(value ?? "");
  }
  return "";
}
