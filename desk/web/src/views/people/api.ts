// What the API says of users, roles, sessions and tokens, and the requests for it.
import { useState } from "react";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import type { Access } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import { language, t } from "../../text/text.ts";
import { messageOf } from "../../ui/states.tsx";

export interface Role {
  id: number;
  name: string;
  type: string;
}

export interface Account {
  id: number;
  username: string;
  email: string;
  blocked: boolean;
  confirmed: boolean;
  role?: Role | null;
}

export interface SessionOf {
  id: string;
  deviceId: string | null;
  current: boolean;
  loginAt: string;
  lastActiveAt: string;
}

export interface Token {
  name: string;
  description: string;
  type: "full-access" | "read-only" | "custom";
  permissions: string[];
  rules: Record<string, unknown>;
  declared: boolean;
  hasKey: boolean;
  lastUsedAt: string | null;
  expiresAt: string | null;
  key?: string;
}

export const may = (access: Access, action: string) => access.permissions.includes(action);
export const mayUser = (access: Access, action: string) => may(access, `plugin::users-permissions.user.${action}`);
export const isSelf = (access: Access, user: Account) => access.principal.kind === "user" && String(access.principal.id) === String(user.id);
export const timeOf = (at: string) => new Date(at).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });

// useRoles returns the roles, as far as the reader may see them.
export function useRoles(access: Access): Role[] {
  const { data } = useQuery({
    queryKey: ["people", "roles"],
    queryFn: async ({ signal }) => (await ask<{ roles: Role[] }>({ path: "users-permissions/roles", signal })).body.roles,
    enabled: may(access, "plugin::users-permissions.role.find"),
  });
  return data ?? [];
}

export interface Said {
  text: string;
  failed: boolean;
}

// useChange returns how to send a change and what is to be said of the last one. Afterwards all is read anew.
export function useChange() {
  const queries = useQueryClient();
  const [said, setSaid] = useState<Said | null>(null);
  const [busy, setBusy] = useState(false);
  const change = async <T>(request: Request): Promise<T | null> => {
    setBusy(true);
    setSaid(null);
    try {
      const { body } = await ask<T>(request);
      setSaid({ text: t("people.done"), failed: false });
      return body ?? ({} as T);
    } catch (err) {
      setSaid({ text: messageOf(err), failed: true });
      return null;
    } finally {
      setBusy(false);
      void queries.invalidateQueries({ queryKey: ["people"] });
    }
  };
  return { change, said, busy };
}
