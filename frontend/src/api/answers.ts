/**
 * What becomes of a call of the service: its answer, or an ApiError. A refusal is one with the service's stable code; a
 * service that does not answer is one with the code "unreachable".
 */
import { ApiError } from "./errors";

/** The answer of an operation; a refusal is thrown. */
export async function answerOf<Answer>(
  asked: Promise<{ data?: Answer; error?: unknown; response: Response }>,
): Promise<NonNullable<Answer>> {
  const { data, error, response } = await asked;
  if (data === undefined || data === null) throw refusal(response.status, error);
  return data;
}

/** For what is answered without a body. */
export async function done(asked: Promise<{ error?: unknown; response: Response }>): Promise<void> {
  const { error, response } = await asked;
  if (!response.ok) throw refusal(response.status, error);
}

function refusal(status: number, body: unknown): ApiError {
  const said = isRecord(body) ? body : {};
  const code = typeof said.code === "string" ? said.code : `http_${status}`;
  const message = typeof said.message === "string" ? said.message : typeof said.detail === "string" ? said.detail : "";
  return new ApiError(code, message || `HTTP ${status}`, isRecord(said.extra) ? said.extra : {}, status);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

export function unreachable(): ApiError {
  return new ApiError("unreachable", "The service does not answer.");
}
