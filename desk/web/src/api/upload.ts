// Sends forms with files, and tells how much of them was sent: fetch does not.
import { api, Failure, failureOf } from "./client.ts";
import { parse } from "./exact.ts";
import { type Session, session } from "./session.ts";

export interface Upload {
  path: string; // below the address of the API
  form: FormData;
  idempotencyKey?: string;
  onProgress?: (part: number) => void; // from 0 to 1
  signal?: AbortSignal;
}

// upload sends a form and returns the body of the answer; it throws a Failure. Like ask, it sends the form again with a
// new access token if the one that it had has run out.
export async function upload<T>(request: Upload, as: Session = session): Promise<T> {
  const token = await as.token();
  let response = await send(request, token);
  if (response.status === 401 && token !== null) {
    const next = await as.renew(token);
    if (next !== null) response = await send(request, next);
  }
  if (!response.ok) throw await failureOf(response);
  return parse(await response.text()) as T;
}

function send({ path, form, idempotencyKey, onProgress, signal }: Upload, token: string | null): Promise<Response> {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    const stop = () => call.abort();
    call.open("POST", new URL(path, api));
    if (token !== null) call.setRequestHeader("Authorization", `Bearer ${token}`);
    if (idempotencyKey) call.setRequestHeader("Idempotency-Key", idempotencyKey);
    call.upload.onprogress = ({ loaded, total }) => onProgress?.(total > 0 ? loaded / total : 0);
    call.onload = () => {
      const headers = { "X-Request-Id": call.getResponseHeader("X-Request-Id") ?? "" };
      resolve(new Response(call.responseText, { status: call.status, statusText: call.statusText, headers }));
    };
    call.onerror = () => reject(new Failure(0, "no answer"));
    call.onabort = () => reject(signal?.reason ?? new Failure(0, "aborted"));
    call.onloadend = () => signal?.removeEventListener("abort", stop);
    signal?.addEventListener("abort", stop);
    call.send(form);
  });
}
