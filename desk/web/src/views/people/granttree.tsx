// The permissions of a role by what they are about: to switch on and off, or to read, with the rules of the file.
import { useState } from "react";
import { Button } from "react-aria-components";
import type { Access } from "../../api/access.ts";
import { stringify } from "../../api/exact.ts";
import { t } from "../../text/text.ts";
import { may } from "./api.ts";
import { type Group, groupsOf, type RoleWithRules, type Rule } from "./grants.ts";

interface GrantsProps {
  access: Access;
  role: RoleWithRules;
  all: string[]; // permissions that a role can have
  granted: Set<string>;
  onSwitch?: (permissions: string[], on: boolean) => void; // none: they are shown only
}

export function Grants({ access, role, all, granted, onSwitch }: GrantsProps) {
  const [search, setSearch] = useState("");
  const shown = onSwitch ? [...all, ...granted] : [...granted, ...role.declaredPermissions];
  const titleOf = (uid: string) => access.contentTypes.find((type) => type.uid === uid)?.schema.displayName ?? uid.replace(/^.*(::|\.)/, "");
  const word = search.trim().toLowerCase();
  const groups = groupsOf(shown).filter(({ uid, actions }) => `${titleOf(uid)} ${uid} ${actions.join(" ")}`.toLowerCase().includes(word));
  return (
    <section aria-label={t("people.permissions")}>
      <header className="row">
        <h2>{t("people.permissions")}</h2>
        <input type="search" aria-label={t("roles.search")} placeholder={t("roles.search")} value={search} onChange={(event) => setSearch(event.target.value)} />
      </header>
      {onSwitch && !all.every((permission) => may(access, permission)) && <p className="quiet">{t("roles.beyond")}</p>}
      {groups.length === 0 && <p className="quiet">{t(word ? "roles.nothingFound" : "roles.nothing")}</p>}
      {groups.map((group) => (
        <GroupOf key={group.uid} title={titleOf(group.uid)} group={group} searched={word !== ""} granted={granted} counted={onSwitch !== undefined}>
          {onSwitch
            ? <Switches access={access} role={role} title={titleOf(group.uid)} group={group} granted={granted} onSwitch={onSwitch} />
            : <Facts role={role} group={group} granted={granted} />}
        </GroupOf>
      ))}
    </section>
  );
}

interface GroupProps {
  title: string;
  group: Group;
  granted: Set<string>;
  searched: boolean;
  counted: boolean;
  children: React.ReactNode;
}

// GroupOf folds away what is not granted, so that a keyboard passes by it.
function GroupOf({ title, group, granted, searched, counted, children }: GroupProps) {
  const on = group.actions.filter((action) => granted.has(`${group.uid}.${action}`)).length;
  const [began] = useState(on > 0);
  return (
    <details className="grants" open={began || searched}>
      <summary>
        <strong>{title}</strong> <code className="quiet">{group.uid}</code>
        {counted && <> <span className="quiet">{t("roles.some", { on, of: group.actions.length })}</span></>}
      </summary>
      {children}
    </details>
  );
}

interface SwitchesProps extends Required<Pick<GrantsProps, "access" | "role" | "granted" | "onSwitch">> {
  title: string;
  group: Group;
}

function Switches({ access, role, title, group, granted, onSwitch }: SwitchesProps) {
  const permissions = group.actions.map((action) => `${group.uid}.${action}`);
  // What the reader may not do, the server lets them take away, and give back as long as it is not saved.
  const open = permissions.filter((permission) => may(access, permission) || role.permissions.includes(permission) || granted.has(permission));
  const whole = open.length > 0 && open.every((permission) => granted.has(permission));
  return (
    <div role="group" aria-label={title} className="row">
      {permissions.map((permission, i) => (
        <label key={permission} className="switch">
          <input
            type="checkbox"
            checked={granted.has(permission)}
            disabled={!open.includes(permission)}
            onChange={(event) => onSwitch([permission], event.target.checked)}
          />{" "}
          {group.actions[i]}
        </label>
      ))}
      {open.length > 1 && (
        <Button className="button quiet" aria-label={t(whole ? "roles.noneOf" : "roles.allOf", { title })} onPress={() => onSwitch(open, !whole)}>
          {t(whole ? "roles.none" : "roles.every")}
        </Button>
      )}
    </div>
  );
}

function Facts({ role, group, granted }: { role: RoleWithRules; group: Group; granted: Set<string> }) {
  return (
    <ul className="allowed">
      {group.actions.map((action) => {
        const permission = `${group.uid}.${action}`;
        const rule = role.rules[permission];
        return (
          <li key={permission}>
            <strong>{action}</strong>
            {!granted.has(permission) && <> <span className="badge stopped">{t("roles.off")}</span></>}
            {role.declared && !role.declaredPermissions.includes(permission) && <> <span className="badge">{t("roles.beside")}</span></>}
            {rule && <RuleOf rule={rule} />}
          </li>
        );
      })}
    </ul>
  );
}

const parts = { where: "roles.where", fields: "roles.fields", set: "roles.set", check: "roles.check" } as const;

function RuleOf({ rule }: { rule: Rule }) {
  return (
    <dl>
      {Object.entries(rule).map(([part, value]) => (
        <div key={part}>
          <dt>{part in parts ? t(parts[part as keyof typeof parts]) : part}</dt>
          <dd>{Array.isArray(value) ? value.join(", ") : <code>{stringify(value)}</code>}</dd>
        </div>
      ))}
    </dl>
  );
}
