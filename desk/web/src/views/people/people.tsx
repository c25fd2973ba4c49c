// People and programs that use the API: users with their sessions, roles, and API tokens.
import { t } from "../../text/text.ts";
import { PlaceLink } from "../../ui/link.tsx";
import type { AreaProps } from "../areas.ts";
import "../webhooks/webhooks.css";
import { may } from "./api.ts";
import "./people.css";
import { Role } from "./role.tsx";
import { Roles } from "./roles.tsx";
import { Tokens } from "./tokens.tsx";
import { User } from "./user.tsx";
import { Users } from "./users.tsx";

const parts = [
  { name: "users", title: "people.users", action: "plugin::users-permissions.user.find" },
  { name: "roles", title: "roles.title", action: "lectern::role.find" },
  { name: "tokens", title: "people.tokens", action: "lectern::api-token.find" },
] as const;

export default function People({ access, place }: AreaProps) {
  const seen = parts.filter(({ action }) => may(access, action));
  const part = seen.find(({ name }) => place.path[1] === undefined || name === place.path[1])?.name;
  const id = place.path[2];
  if (part === "users" && id !== undefined) return <User key={id} access={access} id={id} />;
  if (part === "roles" && id !== undefined) return <Role key={id} access={access} id={id} />;
  return (
    <section className="column people">
      {seen.length > 1 && (
        <nav className="row" aria-label={t("people.title")}>
          {seen.map(({ name, title }) => (
            <PlaceLink key={name} to={["people", name]} aria-current={name === part ? "page" : undefined}>{t(title)}</PlaceLink>
          ))}
        </nav>
      )}
      {part === "users" && <Users access={access} place={place} />}
      {part === "roles" && <Roles access={access} />}
      {part === "tokens" && <Tokens access={access} />}
    </section>
  );
}
