// What the API says of webhooks and their deliveries.
import type { Request } from "../../api/client.ts";

export interface Webhook {
  name: string;
  url: string; // without what may be a credential
  format: "standard" | "strapi";
  events: string[];
  types: string[] | null; // null: all but users
  state: "on" | "down" | "stopped" | "disabled";
  reason: string | null;
  waiting: number;
  unread: number;
  dead: number;
  delivered: number;
  failed: number;
  lostEntries: number;
}

export interface Event {
  id: string;
  event: string;
  contentType: string | null;
  documentId: string | null;
  locale: string | null;
  error: string | null;
}

export interface Attempt extends Event {
  at: string;
  attempt: number;
  state: "delivered" | "failed" | "pending" | "dead";
  answered: number | null;
  duration: number;
}

export interface Deliveries {
  attempts: Attempt[];
  pending: (Event & { attempts: number; nextAt: string | null; later: number })[];
  dead: (Event & { attempts: number; givenUpAt: string })[];
}

export interface Tested {
  answered: number | null;
  duration: number;
  error: string | null;
}

export interface Replayed {
  events?: number;
  deadLetters?: number;
  entries?: number;
  missing?: boolean;
}

export const all: Request = { path: "_webhooks" };
export const deliveriesOf = (name: string): Request => ({ path: `_webhooks/${encodeURIComponent(name)}/deliveries` });
export const testOf = (name: string): Request => ({ method: "POST", path: `_webhooks/${encodeURIComponent(name)}/actions/test` });
export const replayOf = (name: string, data: { since?: string; id?: string }): Request => ({
  method: "POST",
  path: `_webhooks/${encodeURIComponent(name)}/actions/replay`,
  body: { data: { ...data } },
});
