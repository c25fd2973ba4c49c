// API tokens: made, rotated and revoked. A key is shown once, where it was made.
import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Button } from "react-aria-components";
import type { Access } from "../../api/access.ts";
import { ask, type Request } from "../../api/client.ts";
import type { Json } from "../../api/json.ts";
import { t } from "../../text/text.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyCurl } from "../../ui/curl.tsx";
import { Problem, Waiting } from "../../ui/states.tsx";
import { may, timeOf, type Token, useChange } from "./api.ts";

const request: Request = { path: "_tokens" };
const pathOf = (token: Token) => `_tokens/${encodeURIComponent(token.name)}`;

export function Tokens({ access }: { access: Access }) {
  const { change, said, busy } = useChange();
  const [made, setMade] = useState<Token | null>(null);
  const [adding, setAdding] = useState(false);
  const [asked, setAsked] = useState<{ token: Token; verb: "rotate" | "revoke" } | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ["people", "tokens"],
    queryFn: async ({ signal }) => (await ask<{ data: Token[] }>({ ...request, signal })).body.data,
  });
  const makes = may(access, "lectern::api-token.create");
  const keyOf = async (what: Request) => {
    setMade(null);
    const answer = await change<{ data: Token }>(what);
    if (answer) setMade(answer.data);
    return answer !== null;
  };
  const create = async (sent: { [key: string]: Json }) => {
    if (await keyOf({ method: "POST", path: "_tokens", body: { data: sent } })) setAdding(false);
  };
  const run = ({ token, verb }: { token: Token; verb: "rotate" | "revoke" }) => {
    setAsked(null);
    if (verb === "rotate") void keyOf({ method: "POST", path: `${pathOf(token)}/actions/rotate` });
    else void change({ method: "DELETE", path: pathOf(token) }).then(() => setMade(null));
  };
  return (
    <>
      <header className="row">
        <h1>{t("people.tokens")}</h1>
        {makes && <Button className="button" onPress={() => setAdding(!adding)}>{t("people.addToken")}</Button>}
        <CopyCurl request={request} />
      </header>
      <p role="status" className={said?.failed ? "problem" : "said"}>{said?.text}</p>
      {made?.key && <Key token={made} text={made.key} onDone={() => setMade(null)} />}
      {adding && <NewToken busy={busy} onMake={(sent) => void create(sent)} />}
      {error && <Problem error={error} retry={() => void refetch()} />}
      {!data && !error && <Waiting />}
      <ul className="events">
        {data?.map((token) => (
          <li key={token.name}>
            <span className="of">
              <strong>{token.name}</strong> <span className="quiet">{token.type}{token.description && `: ${token.description}`}</span>
            </span>
            <span className="quiet">
              {token.lastUsedAt ? t("people.used", { time: timeOf(token.lastUsedAt) }) : t("people.unused")}
              {token.expiresAt && `, ${t("people.expires", { time: timeOf(token.expiresAt) })}`}
            </span>
            {token.hasKey && may(access, "lectern::api-token.rotate") && (
              <Button className="button" isDisabled={busy} aria-label={t("people.rotateOf", { name: token.name })} onPress={() => setAsked({ token, verb: "rotate" })}>
                {t("people.rotate")}
              </Button>
            )}
            {token.hasKey && may(access, "lectern::api-token.revoke") && (
              <Button className="button danger" isDisabled={busy} aria-label={t("people.revokeOf", { name: token.name })} onPress={() => setAsked({ token, verb: "revoke" })}>
                {t("people.revoke")}
              </Button>
            )}
            {!token.hasKey && makes && (
              <Button className="button" isDisabled={busy} aria-label={t("people.keyFor", { name: token.name })} onPress={() => void create({ name: token.name })}>
                {t("people.makeKey")}
              </Button>
            )}
            {(token.declared || token.permissions.length > 0) && (
              <details className="wide">
                <summary>{t(token.declared ? "people.declared" : "people.permissions")}</summary>
                <ul>
                  {token.permissions.map((permission) => (
                    <li key={permission}>
                      <code>{permission}</code>
                      {token.rules[permission] !== undefined && <> <code>{JSON.stringify(token.rules[permission])}</code></>}
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </li>
        ))}
      </ul>
      {asked && (
        <Confirm
          question={t(asked.verb === "rotate" ? "people.sureRotate" : "people.sureRevoke", { name: asked.token.name })}
          verb={t(`people.${asked.verb}`)}
          onNo={() => setAsked(null)}
          onYes={() => run(asked)}
        />
      )}
    </>
  );
}

function Key({ token, text, onDone }: { token: Token; text: string; onDone: () => void }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
  };
  return (
    <section className="card column" aria-label={t("people.keyOf", { name: token.name })}>
      <p>{t("people.once", { name: token.name })}</p>
      <code className="secret">{text}</code>
      <div className="row">
        <Button className="button primary" onPress={() => void copy()}>{t(copied ? "app.copied" : "people.copy")}</Button>
        <Button className="button" onPress={onDone}>{t("people.hide")}</Button>
      </div>
    </section>
  );
}

function NewToken({ busy, onMake }: { busy: boolean; onMake: (sent: { [key: string]: Json }) => void }) {
  const [type, setType] = useState("custom");
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const lifespan = text("lifespan");
    onMake({
      name: text("name"), description: text("description"), type,
      ...(type === "custom" ? { permissions: text("permissions").split(/\s+/).filter((one) => one !== "") } : {}),
      ...(lifespan ? { lifespan } : {}),
    });
  };
  return (
    <form className="card" onSubmit={submit}>
      <label>{t("people.name")} <input name="name" required maxLength={100} autoComplete="off" /></label>
      <label>{t("people.description")} <input name="description" autoComplete="off" /></label>
      <label>
        {t("people.type")}{" "}
        <select value={type} onChange={(event) => setType(event.target.value)}>
          {["custom", "read-only", "full-access"].map((name) => <option key={name}>{name}</option>)}
        </select>
      </label>
      {type === "custom" && <label>{t("people.permissionsHelp")} <textarea name="permissions" required spellCheck={false} /></label>}
      <label>{t("people.lifespan")} <input name="lifespan" placeholder="90d" autoComplete="off" /></label>
      <div className="row"><Button type="submit" className="button primary" isDisabled={busy}>{t("people.addToken")}</Button></div>
    </form>
  );
}
