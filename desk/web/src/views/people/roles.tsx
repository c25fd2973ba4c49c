// The roles: those of config/permissions.yaml, and those that are made here.
import { useQuery } from "@tanstack/react-query";
import type { Access } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import { t } from "../../text/text.ts";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import { may } from "./api.ts";
import type { RoleWithRules } from "./grants.ts";

export const rolesRequest: Request = { path: "_roles" };

// useRolesWithRules returns the roles, and the permissions that a role can have.
export function useRolesWithRules() {
  return useQuery({
    queryKey: ["people", "roles with rules"],
    queryFn: async ({ signal }) => (await ask<{ data: RoleWithRules[]; meta: { permissions: string[] } }>({ ...rolesRequest, signal })).body,
  });
}

export function Roles({ access }: { access: Access }) {
  const { data, error, refetch } = useRolesWithRules();
  return (
    <>
      <header className="row">
        <h1>{t("roles.title")}</h1>
        {may(access, "plugin::users-permissions.role.createRole") && <PlaceLink className="button" to={["people", "roles", "new"]}>{t("roles.add")}</PlaceLink>}
        <CopyCurl request={rolesRequest} />
      </header>
      {error && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Waiting />}
      <ul className="events">
        {data?.data.map((role) => (
          <li key={role.type}>
            <span className="of">
              <PlaceLink to={["people", "roles", String(role.id)]}>{role.name}</PlaceLink> <span className="quiet">{role.description}</span>
            </span>
            {role.declared && <span className="badge">{t("roles.declared")}</span>}
            <span className="quiet">{t("roles.counts", { users: role.users, permissions: role.permissions.length })}</span>
          </li>
        ))}
      </ul>
    </>
  );
}
