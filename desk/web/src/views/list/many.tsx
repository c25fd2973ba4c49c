// What can be done with many documents at once: all or nothing, as one batch.
import { useState } from "react";
import { Button } from "react-aria-components";
import { type ContentType, isLocalized, pathOf } from "../../api/access.ts";
import { ask } from "../../api/client.ts";
import { t } from "../../text/text.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { messageOf } from "../../ui/states.tsx";

type Verb = "publish" | "unpublish" | "delete";

interface ManyProps {
  type: ContentType;
  ids: string[];
  locale: string;
  onDone: () => void;
}

export function Many({ type, ids, locale, onDone }: ManyProps) {
  const [busy, setBusy] = useState(false);
  const [sure, setSure] = useState(false);
  const [message, setMessage] = useState("");
  const verbs: Verb[] = (["publish", "unpublish", "delete"] as const).filter((verb) => verb in type.actions);

  const where = (verb: Verb): Record<string, string> => (isLocalized(type) ? { locale: verb === "delete" ? "*" : locale } : {});

  const run = async (verb: Verb) => {
    setSure(false);
    setBusy(true);
    try {
      await ask({
        method: "POST",
        path: "_batch",
        idempotencyKey: crypto.randomUUID(),
        body: {
          operations: ids.map((documentId) => ({
            op: verb, type: pathOf(type), documentId, ...where(verb),
          })),
        },
      });
      onDone();
    } catch (err) {
      setMessage(t("list.failedMany", { message: messageOf(err) }));
    } finally {
      setBusy(false);
    }
  };

  return (
    <div className="row many" role="group" aria-label={t("list.selected", { n: ids.length })}>
      <strong>{t("list.selected", { n: ids.length })}</strong>
      {verbs.map((verb) => (
        <Button
          key={verb}
          className={verb === "delete" ? "button danger" : "button"}
          isDisabled={busy}
          onPress={() => (verb === "delete" ? setSure(true) : void run(verb))}
        >
          {t(`list.${verb}`)}
        </Button>
      ))}
      {message && <p role="alert">{message}</p>}
      {sure && (
        <Confirm question={t("list.sureDelete", { n: ids.length })} verb={t("list.delete")} onYes={() => void run("delete")} onNo={() => setSure(false)} />
      )}
    </div>
  );
}
