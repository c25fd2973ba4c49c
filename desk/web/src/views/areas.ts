// What the desk has beside content. Each view is a part of its own, loaded when somebody goes there.
import type { ComponentType, ReactNode } from "react";
import { type Access, isProjects } from "../api/access.ts";
import type { Place } from "../place.ts";
import type { Key } from "../text/text.ts";
import { chunk } from "../ui/chunk.tsx";

export interface AreaProps {
  access: Access;
  place: Place;
}

export interface Area {
  name: string; // first part of its addresses
  title: Key;
  mayUse: (access: Access) => boolean;
  View: ComponentType<AreaProps & { fallback: ReactNode }>;
}

const mayPlan = (access: Access) => access.contentTypes.some(({ actions }) => "publish" in actions || "unpublish" in actions);
const may = (action: string) => (access: Access) => access.permissions.includes(action);

const mayLookBack = (access: Access) => access.contentTypes.some(({ actions, schema }) => "history" in actions && schema.kind !== "singleType");

export const areas: Area[] = [
  { name: "deleted", title: "gone.title", mayUse: mayLookBack, View: chunk(async () => ({ default: (await import("./history/deleted.tsx")).DeletedDocuments })) },
  { name: "media", title: "files.title", mayUse: may("plugin::upload.content-api.find"), View: chunk(() => import("./media/media.tsx")) },
  { name: "schedules", title: "schedules.title", mayUse: mayPlan, View: chunk(() => import("./schedules/schedules.tsx")) },
  { name: "server", title: "server.title", mayUse: may("lectern::server.status"), View: chunk(() => import("./server/server.tsx")) },
  { name: "webhooks", title: "hooks.title", mayUse: may("lectern::webhook.find"), View: chunk(() => import("./webhooks/webhooks.tsx")) },
  {
    name: "people",
    title: "people.title",
    mayUse: (access) => ["plugin::users-permissions.user.find", "lectern::role.find", "lectern::api-token.find"].some((action) => may(action)(access)),
    View: chunk(() => import("./people/people.tsx")),
  },
  { name: "audit", title: "audit.title", mayUse: may("lectern::audit.find"), View: chunk(() => import("./audit/audit.tsx")) },
  { name: "types", title: "types.title", mayUse: (access) => access.contentTypes.some(isProjects), View: chunk(() => import("./types/types.tsx")) },
];
