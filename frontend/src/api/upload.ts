/** Files on their way to the service, with how much of them has been sent. */
import { unreachable } from "./answers";
import { csrfToken } from "./csrf";

/** Sends a request by XMLHttpRequest: fetch tells nothing of how much of a body has been sent. */
export function upload(request: Request, form: FormData, progress: (share: number) => void): Promise<Response> {
  return new Promise((resolve, reject) => {
    const sent = new XMLHttpRequest();
    sent.open(request.method, request.url);
    sent.setRequestHeader("X-CSRFToken", csrfToken());
    sent.setRequestHeader("Accept", "application/json");
    sent.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    sent.addEventListener("load", () => resolve(new Response(sent.responseText, { status: sent.status })));
    sent.addEventListener("error", () => reject(unreachable()));
    sent.send(form);
  });
}
