// Uploads of files: one after the other, with how far each is. One that fails stays until it is sent again or dropped.
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { Button } from "react-aria-components";
import { Failure } from "../api/client.ts";
import { t } from "../text/text.ts";
import { messageOf } from "../ui/states.tsx";
import "./files.css";
import { acceptOf, type FileValue, isAllowed, store } from "./library.ts";

interface Upload {
  key: string; // Idempotency-Key: sent again with it, the file is not stored twice
  file: File;
  part: number;
  problem: string;
  isLost: boolean; // the line was, and the server may have the file
  stop: AbortController;
}

type Send = (file: File, key: string, onProgress: (part: number) => void, signal: AbortSignal) => Promise<FileValue>;

// how long to wait while the server is still at work on what was sent before, in milliseconds, and how often
const pause = 1000;
const pauses = 30;

// Uploads are the uploads of one place. They go on while nothing shows them.
export class Uploads {
  onStored: (file: FileValue) => void = () => {};
  readonly #send: Send;
  #items: readonly Upload[] = [];
  #waiting: Upload[] = [];
  #isBusy = false;
  #isWatching = false;
  readonly #listeners = new Set<() => void>();

  constructor(send: Send = store) {
    this.#send = send;
  }

  readonly subscribe = (listener: () => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly items = () => this.#items;

  // start uploads files, so that they keep their order.
  start(files: File[], kinds?: string[]): void {
    const added = files.map((file): Upload => {
      const problem = file.type && !isAllowed(kinds, file.type) ? t("media.notAllowed") : "";
      return { key: crypto.randomUUID(), file, part: 0, problem, isLost: false, stop: new AbortController() };
    });
    if (!this.#isWatching) this.#watch();
    this.#show([...this.#items, ...added]);
    this.#waiting.push(...added.filter((upload) => !upload.problem));
    void this.#work();
  }

  // again sends a file that failed once more, with its key.
  again(key: string): void {
    const failed = this.#items.find((item) => item.key === key && item.problem);
    if (!failed) return;
    const upload = { ...failed, problem: "", isLost: false, part: 0, stop: new AbortController() };
    this.#show(this.#items.map((item) => (item === failed ? upload : item)));
    this.#waiting.push(upload);
    void this.#work();
  }

  // drop ends an upload and forgets it.
  drop(key: string): void {
    this.#items.find((item) => item.key === key)?.stop.abort();
    this.#waiting = this.#waiting.filter((upload) => upload.key !== key);
    this.#show(this.#items.filter((item) => item.key !== key));
  }

  // forget drops the files that failed.
  forget(): void {
    this.#show(this.#items.filter((item) => !item.problem));
  }

  // watch sends what was lost again when the line is back, and lets the browser ask before the page is closed on files
  // that are not stored.
  #watch(): void {
    this.#isWatching = true;
    addEventListener("online", () => this.#items.forEach((item) => item.isLost && this.again(item.key)));
    addEventListener("beforeunload", (event) => {
      if (this.#items.some((item) => item.isLost || !item.problem)) event.preventDefault();
    });
  }

  #show(items: readonly Upload[]): void {
    this.#items = items;
    for (const listener of this.#listeners) listener();
  }

  #set(key: string, change: Partial<Upload>): void {
    this.#show(this.#items.map((item) => (item.key === key ? { ...item, ...change } : item)));
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) await this.#run(next);
    this.#isBusy = false;
  }

  async #run({ file, key, stop }: Upload): Promise<void> {
    for (let left = pauses; ; left--) {
      try {
        const stored = await this.#send(file, key, (part) => this.#set(key, { part }), stop.signal);
        this.#show(this.#items.filter((item) => item.key !== key));
        this.onStored(stored);
        return;
      } catch (error) {
        if (stop.signal.aborted) return;
        const status = error instanceof Failure ? error.status : -1;
        if (status === 409 && left > 0) {
          await new Promise((resolve) => setTimeout(resolve, pause));
          if (stop.signal.aborted) return;
          continue;
        }
        this.#set(key, { problem: messageOf(error), isLost: status === 0 });
        return;
      }
    }
  }
}

// useUploads returns how to upload files, and a list with how far each is. Without uploads of its own, a component has
// some for as long as it is shown.
export function useUploads(kinds: string[] | undefined, onStored: (file: FileValue) => void, shared?: Uploads) {
  const [own] = useState(() => shared ?? new Uploads());
  const uploads = shared ?? own;
  const latest = useRef(onStored);
  latest.current = onStored;
  useEffect(() => {
    uploads.onStored = (file) => latest.current(file);
    return () => (shared ? undefined : own.forget());
  }, [uploads]);
  const items = useSyncExternalStore(uploads.subscribe, uploads.items);
  const failed = items.filter((item) => item.problem);
  const list = items.length > 0 && (
    <div className="uploads">
      <ul>
        {items.map((upload) => (
          <li key={upload.key}>
            <span className="file-name">{upload.file.name}</span>
            {upload.problem ? (
              <>
                <span role="alert" className="problem">
                  {upload.problem}
                </span>
                <Button className="button" aria-label={t("media.againOf", { name: upload.file.name })} onPress={() => uploads.again(upload.key)}>
                  {t("media.again")}
                </Button>
              </>
            ) : (
              <progress aria-label={t("media.progress", { name: upload.file.name })} value={upload.part} max={1} />
            )}
            <Button className="button" aria-label={t("media.drop", { name: upload.file.name })} onPress={() => uploads.drop(upload.key)}>
              {t("app.cancel")}
            </Button>
          </li>
        ))}
      </ul>
      {failed.length > 1 && (
        <Button className="button" onPress={() => failed.forEach((upload) => uploads.again(upload.key))}>
          {t("media.againAll", { n: failed.length })}
        </Button>
      )}
    </div>
  );
  return { start: (files: File[]) => uploads.start(files, kinds), list };
}

interface UploadButtonProps {
  kinds: string[] | undefined;
  isMany: boolean;
  onFiles: (files: File[]) => void;
  label?: string;
}

// UploadButton asks for files of this device.
export function UploadButton({ kinds, isMany, onFiles, label = t("media.upload") }: UploadButtonProps) {
  return (
    <label className="button files-upload">
      {label}
      <input
        type="file"
        className="visually-hidden"
        multiple={isMany}
        accept={acceptOf(kinds)}
        onChange={(event) => {
          onFiles([...(event.target.files ?? [])]);
          event.target.value = ""; // so that the same file can be chosen again
        }}
      />
    </label>
  );
}
