// What there is to know of a file: its picture, what is said of it, where it is used; and replacing and deleting it.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import type { Access } from "../../api/access.ts";
import { ask } from "../../api/client.ts";
import { describe, type FileInfo, type FileUsage, type FileValue, fileURL, replace, shownURL } from "../../files/library.ts";
import { Uploads, UploadButton, useUploads } from "../../files/uploads.tsx";
import { language, t } from "../../text/text.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { CopyCurl } from "../../ui/curl.tsx";
import { messageOf, Problem, Waiting } from "../../ui/states.tsx";
import { Usage } from "./usage.tsx";

interface DetailsProps {
  id: number;
  access: Access;
  may: (action: string) => boolean;
  onClose: () => void;
  onChanged: () => void;
}

const names = ["name", "alternativeText", "caption"] as const;

export function Details({ id, access, may, onClose, onChanged }: DetailsProps) {
  const queries = useQueryClient();
  const path = `upload/files/${id}`;
  const key = ["file", id];
  const read = useQuery({ queryKey: key, queryFn: async ({ signal }) => (await ask<FileValue>({ path, signal })).body });
  const usage = useQuery({
    queryKey: ["file", id, "usage"],
    enabled: may("findUsage"),
    queryFn: async ({ signal }) => (await ask<FileUsage>({ path: `${path}/usage`, query: { limit: 20 }, signal })).body,
  });
  const [typed, setTyped] = useState<FileInfo>({});
  const [asks, setAsks] = useState<"delete" | "close" | null>(null);
  const [message, setMessage] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const [deleteKey] = useState(() => crypto.randomUUID()); // deleted again after a lost answer, it is no error
  const file = read.data;
  const isDirty = file !== undefined && names.some((name) => typed[name] !== undefined && typed[name] !== (file[name] ?? ""));
  const close = () => (isDirty ? setAsks("close") : onClose());
  const changed = (next: FileValue, said: string) => {
    queries.setQueryData(key, next);
    setMessage(said);
    onChanged();
  };

  // act does something at the server, and shows why it failed.
  const act = async (what: () => Promise<void>) => {
    setBusy(true);
    setProblem("");
    setMessage("");
    try {
      await what();
    } catch (err) {
      setProblem(messageOf(err));
    } finally {
      setBusy(false);
    }
  };
  const save = () =>
    act(async () => {
      const sent = typed;
      changed(await describe(id, sent), t("files.saved"));
      setTyped((now) => Object.fromEntries(Object.entries(now).filter(([name, value]) => sent[name as keyof FileInfo] !== value)));
    });
  const remove = () =>
    act(async () => {
      setAsks(null);
      await ask({ method: "DELETE", path, idempotencyKey: deleteKey });
      onChanged();
      onClose();
    });

  const content = file && (
    <>
      <Preview file={file} />
      <form
        className="column"
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {names.map((name) => (
          <div key={name} className="column">
            <label htmlFor={`file-${name}`}>{t(`files.${name}`)}</label>
            <input
              id={`file-${name}`}
              value={typed[name] ?? String(file[name] ?? "")}
              readOnly={!may("upload")}
              aria-describedby={name === "alternativeText" ? "alternative-hint" : undefined}
              onChange={(event) => setTyped({ ...typed, [name]: event.target.value })}
            />
            {name === "alternativeText" && <span id="alternative-hint" className="quiet">{t("files.alternativeHint")}</span>}
          </div>
        ))}
        {may("upload") && (
          <div className="row">
            <Button type="submit" className="button primary" isDisabled={!isDirty || busy}>{t("files.save")}</Button>
            <span role="status">{message}</span>
          </div>
        )}
        {problem && <p role="alert" className="problem">{t("files.notSaved", { message: problem })}</p>}
      </form>
      <Facts file={file} />
      {may("upload") && <Replace id={id} onReplaced={(next) => changed(next, t("files.replaced"))} />}
      <Usage access={access} usage={usage} may={may("findUsage")} />
      <div className="row">
        <CopyCurl request={{ path }} />
        {may("destroy") && (
          <Button className="button danger" isDisabled={busy} onPress={() => void usage.refetch().finally(() => setAsks("delete"))}>
            {t("files.delete")}
          </Button>
        )}
      </div>
    </>
  );
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(open) => !open && close()}>
      <Modal className="modal wide">
        <Dialog className="file-details column">
          <div className="row">
            <Heading slot="title">{file?.name ?? t("files.title")}</Heading>
            <Button className="button close" onPress={close}>{t("files.close")}</Button>
          </div>
          {content}
          {!file && read.error && <Problem error={read.error} retry={() => void read.refetch()} />}
          {!file && !read.error && <Waiting />}
          {asks === "close" && <Confirm question={t("files.sureClose")} verb={t("files.dropChanges")} onYes={onClose} onNo={() => setAsks(null)} />}
          {asks === "delete" && (
            <Confirm question={t(questionOf(usage.data), { name: file?.name })} verb={t("files.delete")} onYes={() => void remove()} onNo={() => setAsks(null)}>
              <Usage access={access} usage={usage} may={may("findUsage")} />
            </Confirm>
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

function questionOf(usage: FileUsage | undefined) {
  if (!usage) return "files.sureDeleteUnknown";
  return usage.meta.pagination.total > 0 || usage.meta.hidden ? "files.sureDeleteUsed" : "files.sureDelete";
}

function Preview({ file }: { file: FileValue }) {
  const url = shownURL(file);
  if (file.mime.startsWith("image/")) return <img className="file-preview" src={url} alt={file.alternativeText ?? ""} />;
  if (file.mime.startsWith("video/")) return <video className="file-preview" src={url} controls aria-label={file.name} />;
  if (file.mime.startsWith("audio/")) return <audio src={url} controls aria-label={file.name} />;
  return null;
}

function Facts({ file }: { file: FileValue }) {
  const facts: [string, string][] = [
    [t("files.type"), file.mime],
    [t("files.size"), `${Number(file.size).toLocaleString(language)} kB`],
    ...(file.width ? [[t("files.pixels"), `${file.width} × ${file.height}`] as [string, string]] : []),
    [t("files.added"), new Date(String(file.createdAt)).toLocaleString(language)],
  ];
  return (
    <dl className="file-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      <div>
        <dt>{t("files.address")}</dt>
        <dd><a href={fileURL(file.url)} target="_blank" rel="noreferrer">{file.url}</a></dd>
      </div>
    </dl>
  );
}

function Replace({ id, onReplaced }: { id: number; onReplaced: (file: FileValue) => void }) {
  const uploads = useMemo(() => new Uploads((file, _key, onProgress, signal) => replace(id, file, onProgress, signal)), [id]);
  const { start, list } = useUploads(undefined, onReplaced, uploads);
  return (
    <div className="column">
      <div className="row">
        <UploadButton kinds={undefined} isMany={false} onFiles={start} label={t("files.replace")} />
        <span className="quiet">{t("files.replaceHint")}</span>
      </div>
      {list}
    </div>
  );
}
