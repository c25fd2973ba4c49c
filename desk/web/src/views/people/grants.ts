// Permissions of roles: in groups by what they are about, as the API takes them, and changed while others change them.
import type { Json } from "../../api/json.ts";

// A Rule is what permissions.yaml says of a permission beside its name.
export type Rule = { [part: string]: Json };

export interface RoleWithRules {
  id: number;
  name: string;
  description: string | null;
  type: string;
  users: number;
  declared: boolean;
  permissions: string[];
  declaredPermissions: string[];
  rules: Record<string, Rule>;
  etag: string;
}

export interface Group {
  uid: string;
  actions: string[];
}

// cut returns what a permission is about, and its action.
export function cut(permission: string): [uid: string, action: string] {
  const dot = permission.lastIndexOf(".");
  return [permission.slice(0, dot), permission.slice(dot + 1)];
}

// groupsOf returns permissions by what they are about: content first, then what comes with the server.
export function groupsOf(permissions: Iterable<string>): Group[] {
  const groups = new Map<string, string[]>();
  for (const permission of permissions) {
    const [uid, action] = cut(permission);
    const actions = groups.get(uid) ?? [];
    if (!actions.includes(action)) actions.push(action);
    groups.set(uid, actions);
  }
  const rank = (uid: string) => (uid.startsWith("api::") ? 0 : uid.startsWith("lectern::") ? 2 : 1);
  return [...groups].map(([uid, actions]) => ({ uid, actions })).sort((a, b) => rank(a.uid) - rank(b.uid) || (a.uid < b.uid ? -1 : 1));
}

// treeOf returns permissions in the form in which a role takes them. A uid is cut at its last dot, if it has one.
export function treeOf(permissions: Iterable<string>): Json {
  const tree: Record<string, { controllers: Record<string, Record<string, { enabled: boolean }>> }> = {};
  for (const permission of permissions) {
    const [uid, action] = cut(permission);
    const [owner, controller] = uid.includes(".") ? cut(uid) : [uid, ""];
    const { controllers } = (tree[owner] ??= { controllers: {} });
    (controllers[controller] ??= {})[action] = { enabled: true };
  }
  return tree as Json;
}

// Edits are what somebody has changed of a role, and not saved: apart from the role, so that they stay when it changes.
export interface Edits {
  name?: string;
  description?: string;
  granted: ReadonlyMap<string, boolean>;
}

export const none: Edits = { granted: new Map() };

export type Editable = Pick<RoleWithRules, "name" | "description" | "permissions">;

// edited returns a role with edits.
export function edited(role: Editable, edits: Edits): { name: string; description: string; permissions: Set<string> } {
  const permissions = new Set(role.permissions);
  for (const [permission, on] of edits.granted) {
    if (on) permissions.add(permission);
    else permissions.delete(permission);
  }
  return { name: edits.name ?? role.name, description: edits.description ?? role.description ?? "", permissions };
}

// switched returns edits with a permission of a role switched on or off.
export function switched(role: Editable, edits: Edits, permission: string, on: boolean): Edits {
  const granted = new Map(edits.granted);
  if (role.permissions.includes(permission) === on) granted.delete(permission);
  else granted.set(permission, on);
  return { ...edits, granted };
}

// isChanged reports whether edits make something else of a role.
export function isChanged(role: Editable, edits: Edits): boolean {
  const after = edited(role, edits);
  return after.name !== role.name || after.description !== (role.description ?? "") || differences(role.permissions, after.permissions).length > 0;
}

// differences lists what was granted and taken away between two sets of permissions, as +permission and −permission.
export function differences(before: Iterable<string>, after: Iterable<string>): string[] {
  const [old, now] = [new Set(before), new Set(after)];
  return [...[...now].filter((p) => !old.has(p)).map((p) => `+ ${p}`), ...[...old].filter((p) => !now.has(p)).map((p) => `− ${p}`)];
}
