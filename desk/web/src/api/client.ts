// Requests to the API, with the token of whoever is logged in. Errors of the API are values of the class Failure.
import { parse, stringify } from "./exact.ts";
import type { Json } from "./json.ts";
import { type Session, session } from "./session.ts";
import { type Query, queryString } from "./query.ts";

// api is the address of the API, with a slash at its end.
export const api = new URL(`${document.getElementById("desk")?.dataset.api ?? "../api"}/`, document.baseURI);

// An Issue is one thing that the API has against a body, at a path in its data.
export interface Issue {
  path: (string | number)[];
  message: string;
}

// A Failure is an answer that is not a success, or a request without an answer: then status is 0.
export class Failure extends Error {
  readonly status: number;
  readonly id: string; // X-Request-Id, by which the log of the server has it
  readonly issues: Issue[];

  constructor(status: number, message: string, id = "", issues: Issue[] = []) {
    super(message);
    this.status = status;
    this.id = id;
    this.issues = issues;
  }
}

// isRefusal reports whether an answer says that nothing was written, and that the same request would be refused again.
export function isRefusal(status: number): boolean {
  return status >= 400 && status < 500 && ![401, 408, 409, 425, 429].includes(status);
}

export interface Request {
  method?: string;
  path: string; // below the address of the API, such as articles/abc
  query?: Query;
  body?: Json;
  ifMatch?: string;
  idempotencyKey?: string;
  outlives?: boolean; // it is sent though the page is being closed
  signal?: AbortSignal;
}

export interface Answer<T> {
  body: T;
  etag: string | null;
}

// ask sends a request and returns its answer; it throws a Failure. It gets a new access token if the one that it had has
// run out meanwhile, and sends the request again.
export async function ask<T = Json>(request: Request, as: Session = session): Promise<Answer<T>> {
  const token = await as.token();
  let response = await send(request, token);
  if (response.status === 401 && token !== null) {
    const next = await as.renew(token);
    if (next !== null) response = await send(request, next);
  }
  if (!response.ok) throw await failureOf(response);
  const text = response.status === 204 ? "null" : await received(response);
  return { body: parse(text || "null") as T, etag: response.headers.get("ETag") };
}

async function send(request: Request, token: string | null): Promise<Response> {
  const headers: Record<string, string> = {};
  if (token !== null) headers.Authorization = `Bearer ${token}`;
  if (request.body !== undefined) headers["Content-Type"] = "application/json";
  if (request.ifMatch) headers["If-Match"] = request.ifMatch;
  if (request.idempotencyKey) headers["Idempotency-Key"] = request.idempotencyKey;
  try {
    return await fetch(addressOf(request), {
      method: request.method ?? "GET",
      headers,
      body: request.body === undefined ? undefined : stringify(request.body),
      signal: request.signal,
      keepalive: request.outlives,
      cache: "no-store",
    });
  } catch (err) {
    if (request.signal?.aborted) throw err;
    throw new Failure(0, String(err));
  }
}

async function received(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (err) {
    throw new Failure(0, String(err));
  }
}

// failureOf returns the error that an answer describes.
export async function failureOf(response: Response): Promise<Failure> {
  const id = response.headers.get("X-Request-Id") ?? "";
  let said: { error?: { message?: string; details?: { errors?: Issue[]; key?: string; path?: string | null } } } = {};
  try {
    said = JSON.parse(await response.text());
  } catch {
    // a proxy answered, with a page of its own
  }
  const message = said.error?.message ?? `${response.status} ${response.statusText}`;
  const issues = said.error?.details?.errors ?? [];
  const key = said.error?.details?.key;
  if (issues.length === 0 && key) issues.push({ path: [...(said.error?.details?.path?.split(".") ?? []), key], message });
  return new Failure(response.status, message, id, issues);
}

export function addressOf(request: Request): string {
  return new URL(request.path + queryString(request.query), api).href;
}

// curlOf returns a request as a command for a shell. Its token is a variable, so that the command can be passed on.
export function curlOf(request: Request): string {
  const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
  const parts = ["curl -sg"];
  if (request.method && request.method !== "GET") parts.push(`-X ${request.method}`);
  parts.push(quoted(addressOf(request)), `-H "Authorization: Bearer $TOKEN"`);
  if (request.ifMatch) parts.push(`-H ${quoted(`If-Match: ${request.ifMatch}`)}`);
  if (request.body !== undefined) parts.push(`-H 'Content-Type: application/json'`, `-d ${quoted(stringify(request.body))}`);
  return parts.join(" ");
}
