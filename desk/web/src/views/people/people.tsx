// People and programs that use the API: users with their sessions, and API tokens.
import type { Access } from "../../api/access.ts";
import { t } from "../../text/text.ts";
import { PlaceLink } from "../../ui/link.tsx";
import type { AreaProps } from "../areas.ts";
import "../webhooks/webhooks.css";
import { may } from "./api.ts";
import "./people.css";
import { Tokens } from "./tokens.tsx";
import { User } from "./user.tsx";
import { Users } from "./users.tsx";

export default function People({ access, place }: AreaProps) {
  const seesUsers = may(access, "plugin::users-permissions.user.find");
  const part = place.path[1] ?? (seesUsers ? "users" : "tokens");
  const id = place.path[2];
  if (part === "users" && id !== undefined) return <User key={id} access={access} id={id} />;
  return (
    <section className="column people">
      <Parts access={access} part={part} />
      {part === "users" && seesUsers && <Users access={access} place={place} />}
      {part === "tokens" && may(access, "lectern::api-token.find") && <Tokens access={access} />}
    </section>
  );
}

function Parts({ access, part }: { access: Access; part: string }) {
  const parts = [
    { name: "users", title: t("people.users"), action: "plugin::users-permissions.user.find" },
    { name: "tokens", title: t("people.tokens"), action: "lectern::api-token.find" },
  ].filter(({ action }) => may(access, action));
  if (parts.length < 2) return null;
  return (
    <nav className="row" aria-label={t("people.title")}>
      {parts.map(({ name, title }) => (
        <PlaceLink key={name} to={["people", name]} aria-current={name === part ? "page" : undefined}>{title}</PlaceLink>
      ))}
    </nav>
  );
}
