/** What a call of the service throws. */

export class ApiError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly extra: Readonly<Record<string, unknown>> = {},
    readonly status = 0,
  ) {
    super(message);
    this.name = "ApiError";
  }

  /** The session is over, or was never there. */
  get needsLogin(): boolean {
    return this.status === 401 || this.code === "not_authenticated" || this.code === "authentication_failed";
  }
}

/** What a call threw, as an ApiError: anything else is a fault of the page itself. */
export function apiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError("page_error", String(error));
}
