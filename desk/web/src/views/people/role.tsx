// One role. What config/permissions.yaml declares is shown with its rules; other roles are edited, and made.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Button } from "react-aria-components";
import type { Access } from "../../api/access.ts";
import { ask, Failure } from "../../api/client.ts";
import { go } from "../../place.ts";
import { t } from "../../text/text.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyCurl } from "../../ui/curl.tsx";
import { PlaceLink } from "../../ui/link.tsx";
import { messageOf, Problem, Waiting } from "../../ui/states.tsx";
import { may, type Said } from "./api.ts";
import { differences, edited, type Edits, isChanged, none, type RoleWithRules, switched, treeOf } from "./grants.ts";
import { Grants } from "./granttree.tsx";
import { rolesRequest, useRolesWithRules } from "./roles.tsx";

const path = "users-permissions/roles";
const mayRole = (access: Access, action: string) => may(access, `plugin::users-permissions.role.${action}Role`);
const fixed = ["public", "authenticated"]; // roles that always exist

const fresh: RoleWithRules = {
  id: 0, name: "", description: null, type: "", users: 0, declared: false, permissions: [], declaredPermissions: [], rules: {}, etag: "",
};

export function Role({ access, id }: { access: Access; id: string }) {
  const { data, error, refetch } = useRolesWithRules();
  const made = id !== "new";
  const role = made ? data?.data.find((one) => String(one.id) === id) : fresh;
  if (error) return <Problem error={error} retry={() => void refetch()} />;
  if (!data) return <Waiting />;
  return (
    <section className="column people">
      <header className="row">
        <h1>{made ? role?.name : t("roles.new")}</h1>
        {role?.declared && <span className="badge">{t("roles.declared")}</span>}
        <PlaceLink to={["people", "roles"]}>{t("roles.all")}</PlaceLink>
        {made && <CopyCurl request={rolesRequest} />}
      </header>
      {!role && <p className="problem">{t("roles.gone")}</p>}
      {role && <One access={access} role={role} all={data.meta.permissions} />}
    </section>
  );
}

function One({ access, role, all }: { access: Access; role: RoleWithRules; all: string[] }) {
  const edits = !role.declared && mayRole(access, role.id ? "update" : "create");
  if (edits) return <RoleForm access={access} role={role} all={all} />;
  return (
    <>
      {role.description && <p>{role.description}</p>}
      <p className="quiet">{t("roles.counts", { users: role.users, permissions: role.permissions.length })}</p>
      {role.declared && <p>{t("roles.inFile")}</p>}
      <Grants access={access} role={role} all={all} granted={new Set(role.permissions)} />
    </>
  );
}

function RoleForm({ access, role, all }: { access: Access; role: RoleWithRules; all: string[] }) {
  const [edits, setEdits] = useState<Edits>(none);
  const [asked, setAsked] = useState<"save" | "delete" | null>(null);
  const { others, forget } = useOthers(role, isChanged(role, edits));
  const { send, said, busy } = useRoleChange();
  const after = edited(role, edits);
  const own = access.principal.role === role.type && role.id !== 0;
  const lost = differences(role.permissions, after.permissions).some((difference) => difference.startsWith("−"));
  const save = async () => {
    setAsked(null);
    forget();
    const body = { name: after.name, description: after.description, permissions: treeOf([...after.permissions].filter((one) => all.includes(one))) };
    const request = role.id ? { method: "PUT", path: `${path}/${role.id}`, ifMatch: role.etag, body } : { method: "POST", path, body };
    if (!(await send(request))) return;
    if (role.id) setEdits(none);
    else go(["people", "roles"], undefined, true);
  };
  const remove = async () => {
    setAsked(null);
    if (await send({ method: "DELETE", path: `${path}/${role.id}`, ifMatch: role.etag })) go(["people", "roles"]);
  };
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (own && lost) setAsked("save");
    else void save();
  };
  return (
    <form className="role" onSubmit={submit}>
      <div className="card">
        <label>{t("people.name")} <input required autoComplete="off" value={after.name} onChange={(event) => setEdits({ ...edits, name: event.target.value })} /></label>
        <label>
          {t("people.description")}{" "}
          <input autoComplete="off" value={after.description} onChange={(event) => setEdits({ ...edits, description: event.target.value })} />
        </label>
        {role.id !== 0 && <p className="quiet">{t("roles.counts", { users: role.users, permissions: after.permissions.size })}</p>}
      </div>
      <div className="bar">
        <div className="row">
          <Button type="submit" className="button primary" isDisabled={busy || (role.id !== 0 && !isChanged(role, edits))}>{t(role.id ? "people.save" : "roles.add")}</Button>
          {role.id !== 0 && isChanged(role, edits) && <Button className="button" isDisabled={busy} onPress={() => setEdits(none)}>{t("roles.undo")}</Button>}
          {role.id !== 0 && !fixed.includes(role.type) && mayRole(access, "delete") && (
            <Button className="button danger" isDisabled={busy} onPress={() => setAsked("delete")}>{t("people.delete")}</Button>
          )}
        </div>
        <p role="status" className={said?.failed ? "problem" : "said"}>{said?.text}</p>
        {others.length > 0 && (
          <div role="alert" className="notice">
            <p>{t("roles.others")}</p>
            <ul>{others.map((difference) => <li key={difference}><code>{difference}</code></li>)}</ul>
          </div>
        )}
      </div>
      <Grants
        access={access}
        role={role}
        all={all}
        granted={after.permissions}
        onSwitch={(permissions, on) => setEdits((before) => permissions.reduce((so, permission) => switched(role, so, permission, on), before))}
      />
      {asked && (
        <Confirm
          question={asked === "save" ? t("roles.sureOwn") : t("roles.sureDelete", { name: role.name, users: role.users })}
          verb={t(asked === "save" ? "people.save" : "people.delete")}
          onNo={() => setAsked(null)}
          onYes={() => void (asked === "save" ? save() : remove())}
        />
      )}
    </form>
  );
}

// useOthers returns what others have changed of a role while it was being edited, until forget is called.
function useOthers(role: RoleWithRules, editing: boolean) {
  const seen = useRef(role);
  const [others, setOthers] = useState<string[]>([]);
  useEffect(() => {
    const before = seen.current;
    seen.current = role;
    if (!editing || before.etag === role.etag) return;
    const names = before.name === role.name ? [] : [`${before.name} → ${role.name}`];
    setOthers([...names, ...differences(before.permissions, role.permissions)]);
  }, [role, editing]);
  return { others, forget: () => setOthers([]) };
}

// useRoleChange returns how to send a change of roles, and what is to be said of the last one. The roles are read anew
// before send returns, so that what is shown then is what the server has.
function useRoleChange() {
  const queries = useQueryClient();
  const [said, setSaid] = useState<Said | null>(null);
  const [busy, setBusy] = useState(false);
  const send = async (request: Parameters<typeof ask>[0]) => {
    setBusy(true);
    setSaid(null);
    let failed: unknown = null;
    try {
      await ask(request);
    } catch (err) {
      failed = err;
    }
    await queries.invalidateQueries({ queryKey: ["people"] });
    void queries.invalidateQueries({ queryKey: ["access"] }); // it may be the role of the reader
    const text = failed instanceof Failure && failed.status === 412 ? t("roles.conflict") : messageOf(failed);
    setSaid(failed === null ? { text: t("people.done"), failed: false } : { text, failed: true });
    setBusy(false);
    return failed === null;
  };
  return { send, said, busy };
}
