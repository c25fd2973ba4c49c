// Who is logged in. The access token is kept in memory; what renews it is a cookie that no script can read. All tabs
// share the cookie, and only one of them renews at a time.
import { Failure, failureOf } from "./client.ts";
import type { Json } from "./json.ts";

// address is that of the session, beside the page.
const address = () => new URL("session", document.baseURI);

// A Session has the access token of this tab. Its listeners are called when somebody logs in or out.
export class Session {
  #token: string | null = null;
  #began: Promise<string | null> | null = null;
  #who: string | null = null; // whose token it is, or was last
  #tabs: BroadcastChannel | null = null; // the other tabs of this desk
  readonly #listeners = new Set<() => void>();

  // token returns the access token; null if nobody is logged in. The first call asks for one by the cookie.
  token(): Promise<string | null> {
    if (this.#token !== null) return Promise.resolve(this.#token);
    this.#began ??= this.renew(null);
    return this.#began;
  }

  // renew returns a token that is newer than one that has run out; null if the session is over. It throws a Failure if
  // the server does not answer.
  async renew(old: string | null): Promise<string | null> {
    return navigator.locks.request("lectern-desk-session", async () => {
      if (this.#token !== old && this.#token !== null) return this.#token; // another request of this tab was first
      const response = await call("PUT");
      if (response.status === 401) return this.#set(null);
      return this.#set(await tokenOf(response));
    });
  }

  // login begins a session with {identifier, password} or {link}.
  async login(credentials: { identifier: string; password: string } | { link: string }): Promise<void> {
    this.#set(await tokenOf(await call("POST", credentials)));
  }

  // logout ends the session, in all tabs.
  async logout(): Promise<void> {
    const response = await call("DELETE");
    if (!response.ok) throw await failureOf(response);
    this.#set(null);
    this.#tabs?.postMessage("over");
  }

  // watch calls listener whenever somebody logs in or out, in whatever tab, and returns a function that ends that.
  watch(listener: () => void): () => void {
    if (this.#tabs === null) {
      this.#tabs = new BroadcastChannel(`lectern-desk-session ${address().pathname}`);
      this.#tabs.onmessage = () => this.#set(null);
    }
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  // isOpen reports whether somebody is logged in, as far as is known without asking.
  isOpen(): boolean {
    return this.#token !== null;
  }

  // A page that shows what one user may do must not send requests in the name of another one, who has logged in in another
  // tab or over the session that ended. It begins anew; what was typed is kept.
  #set(token: string | null): string | null {
    const who = token === null ? this.#who : ownerOf(token);
    if (this.#who !== null && who !== this.#who) {
      location.reload();
      throw new Failure(0, "somebody else has logged in");
    }
    this.#who = who;
    const changed = (this.#token === null) !== (token === null);
    this.#token = token;
    this.#began = null;
    if (token === null) this.#began = Promise.resolve(null);
    if (changed) for (const listener of this.#listeners) listener();
    return token;
  }
}

// ownerOf returns whose token it is: the id of a user in a JWT, or an owner, who has another kind of token.
function ownerOf(token: string): string {
  const claims = token.split(".")[1];
  if (claims === undefined) return "owner";
  const { userId } = JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/"))) as { userId?: string };
  return `user ${userId}`;
}

async function call(method: string, body?: Json): Promise<Response> {
  try {
    return await fetch(address(), {
      method,
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (err) {
    throw new Failure(0, String(err));
  }
}

async function tokenOf(response: Response): Promise<string | null> {
  if (!response.ok) throw await failureOf(response);
  return ((await response.json()) as { jwt: string | null }).jwt;
}

// session is that of this page.
export const session = new Session();
