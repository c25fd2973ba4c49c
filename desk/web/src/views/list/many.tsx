// What can be done with many documents at once: all or nothing, as one batch.
import { lazy, Suspense, useRef, useState } from "react";
import { Button } from "react-aria-components";
import { type Access, type ContentType, isLocalized, pathOf, readsDrafts } from "../../api/access.ts";
import { ask, Failure, isRefusal, type Request } from "../../api/client.ts";
import { stringify } from "../../api/exact.ts";
import type { Json } from "../../api/json.ts";
import { t } from "../../text/text.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyCurl } from "../../ui/curl.tsx";
import { messageOf } from "../../ui/states.tsx";
import { type Done, mayUndo } from "../history/undo.tsx";

const SetDialog = lazy(() => import("./set.tsx"));

type Verb = "publish" | "unpublish" | "delete";

interface ManyProps {
  access: Access;
  type: ContentType;
  ids: string[];
  locale: string;
  onDone: (done: Done | null) => void; // null: it cannot be taken back
}

export function Many({ access, type, ids, locale, onDone }: ManyProps) {
  const [busy, setBusy] = useState(false);
  const [asked, setAsked] = useState<"delete" | "set" | null>(null);
  const [message, setMessage] = useState("");
  const [last, setLast] = useState<Request | null>(null);
  const unanswered = useRef({ text: "", key: "" }); // a batch of which nothing is known, and its key
  const verbs: Verb[] = (["publish", "unpublish", "delete"] as const).filter((verb) => verb in type.actions);

  // send carries out one operation on each document. The same batch has the same key until it was answered, so that it is
  // not carried out twice.
  const send = async (operation: Record<string, Json>, verb?: Verb) => {
    setAsked(null);
    setBusy(true);
    setMessage("");
    const body: Json = { operations: ids.map((documentId) => ({ type: pathOf(type), documentId, ...operation })) };
    const text = stringify(body);
    if (unanswered.current.text !== text) unanswered.current = { text, key: crypto.randomUUID() };
    const request: Request = { method: "POST", path: "_batch", idempotencyKey: unanswered.current.key, body };
    setLast(request);
    try {
      await ask(request);
      unanswered.current = { text: "", key: "" };
      onDone(verb && mayUndo(type, verb) ? { verb, ids, locale } : null);
    } catch (err) {
      if (err instanceof Failure && isRefusal(err.status)) {
        unanswered.current = { text: "", key: "" };
        setMessage(t("list.failedMany", { message: messageOf(err) }));
      } else setMessage(`${messageOf(err)} ${t("list.unknown")}`);
    } finally {
      setBusy(false);
    }
  };
  const here: Record<string, string> = isLocalized(type) ? { locale } : {};
  const run = (verb: Verb) => void send({ op: verb, ...(verb === "delete" && isLocalized(type) ? { locale: "*" } : here) }, verb);
  const set = (data: Record<string, Json>) => void send({ op: "update", ...here, ...(readsDrafts(access, type) ? { status: "draft" } : {}), data });

  return (
    <div className="row many" role="group" aria-label={t("list.selected", { n: ids.length })}>
      <strong>{t("list.selected", { n: ids.length })}</strong>
      {verbs.map((verb) => (
        <Button
          key={verb}
          className={verb === "delete" ? "button danger" : "button"}
          isDisabled={busy}
          onPress={() => (verb === "delete" ? setAsked("delete") : run(verb))}
        >
          {t(`list.${verb}`)}
        </Button>
      ))}
      {(type.actions.update?.fields ?? []).length > 0 && (
        <Button className="button" isDisabled={busy} onPress={() => setAsked("set")}>{t("list.set")}</Button>
      )}
      {message && <p role="alert">{message}</p>}
      {message && last && <CopyCurl request={last} />}
      {asked === "delete" && (
        <Confirm question={t("list.sureDelete", { n: ids.length })} verb={t("list.delete")} onYes={() => run("delete")} onNo={() => setAsked(null)} />
      )}
      {asked === "set" && (
        <Suspense fallback={null}>
          <SetDialog access={access} type={type} count={ids.length} locale={locale} onSet={set} onNo={() => setAsked(null)} />
        </Suspense>
      )}
    </div>
  );
}
