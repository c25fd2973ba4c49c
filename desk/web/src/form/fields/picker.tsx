// Choosing files of the media library, and adding some to it.
import { useEffect, useRef, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { t } from "../../text/text.ts";
import { useForm } from "../field.ts";
import { acceptOf, type FileValue, isAllowed, pageSize } from "../server.ts";
import { isValues } from "../value.ts";

interface FilePickerProps {
  kinds: string[] | undefined;
  isMany: boolean;
  onPick: (files: FileValue[]) => void;
  onClose: () => void;
}

// FilePicker is a dialog with the files of the library, which one searches, and uploads to.
export function FilePicker({ kinds, isMany, onPick, onClose }: FilePickerProps) {
  const { server } = useForm();
  const [text, setText] = useState("");
  const [files, setFiles] = useState<FileValue[]>([]);
  const [hasMore, setMore] = useState(false);
  const [chosen, setChosen] = useState<FileValue[]>([]);
  const [problem, setProblem] = useState("");
  const asked = useRef(0);
  const read = (from: FileValue[]) => {
    const number = ++asked.current;
    server.files(text, kinds, from.length).then(
      (page) => {
        if (number !== asked.current) return;
        setFiles([...from, ...page]);
        setMore(page.length === pageSize);
        setProblem("");
      },
      (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
    );
  };
  useEffect(() => {
    const timer = setTimeout(() => read([]), text ? 150 : 0);
    return () => clearTimeout(timer);
  }, [text]);
  const choose = (file: FileValue) => {
    if (!isMany) return onPick([file]);
    setChosen((old) =>
      old.some((other) => other.id === file.id) ? old.filter((other) => other.id !== file.id) : [...old, file],
    );
  };
  const uploads = useUploads(kinds, (file) => {
    setFiles((old) => [file, ...old]);
    setChosen((old) => (isMany ? [...old, file] : [file]));
    if (!isMany) onPick([file]);
  });
  return (
    <ModalOverlay isOpen isDismissable onOpenChange={(isOpen) => isOpen || onClose()} className="overlay">
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">{t("media.library")}</Heading>
          <div className="field-row">
            <input
              type="search"
              aria-label={t("media.search")}
              placeholder={t("media.search")}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            <UploadButton kinds={kinds} isMany={isMany} onFiles={uploads.start} />
          </div>
          {uploads.list}
          {problem && (
            <p role="alert" className="field-error">
              {problem}
            </p>
          )}
          <ul className="files-grid">
            {files.map((file) => (
              <li key={file.id}>
                <button
                  type="button"
                  className="file-choice"
                  aria-pressed={isMany ? chosen.some((other) => other.id === file.id) : undefined}
                  onClick={() => choose(file)}
                >
                  <Thumbnail file={file} />
                  <span className="file-name">{file.name}</span>
                </button>
              </li>
            ))}
          </ul>
          {files.length === 0 && !problem && <p>{t("media.none")}</p>}
          <div className="field-row">
            {hasMore && (
              <Button className="button" onPress={() => read(files)}>
                {t("media.more")}
              </Button>
            )}
            {isMany && (
              <Button className="button" isDisabled={chosen.length === 0} onPress={() => onPick(chosen)}>
                {t("media.use", { n: chosen.length })}
              </Button>
            )}
            <Button className="button" onPress={onClose}>
              {t("app.cancel")}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

interface UploadButtonProps {
  kinds: string[] | undefined;
  isMany: boolean;
  onFiles: (files: File[]) => void;
}

// UploadButton asks for files of this device.
export function UploadButton({ kinds, isMany, onFiles }: UploadButtonProps) {
  return (
    <label className="button files-upload">
      {t("media.upload")}
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

// Thumbnail shows the picture of a file, or its extension. The name beside it says what it is.
export function Thumbnail({ file }: { file: FileValue }) {
  const { fileURL } = useForm();
  if (!file.mime.startsWith("image/")) {
    return (
      <span className="thumbnail" aria-hidden="true">
        {String(file.ext ?? "")}
      </span>
    );
  }
  const formats = isValues(file.formats) ? file.formats : {};
  const small = isValues(formats.thumbnail) ? formats.thumbnail.url : undefined;
  return <img className="thumbnail" src={fileURL(String(small ?? file.url))} alt="" loading="lazy" />;
}

interface Upload {
  file: File;
  part: number;
  problem: string;
  stop: AbortController;
}

// useUploads uploads files, and returns a list with how far each is.
export function useUploads(kinds: string[] | undefined, onStored: (file: FileValue) => void) {
  const { server } = useForm();
  const [running, setRunning] = useState<Upload[]>([]);
  const latest = useRef(onStored);
  latest.current = onStored;
  const set = (file: File, change: Partial<Upload> | null) =>
    setRunning((old) =>
      old.flatMap((upload) => (upload.file !== file ? [upload] : change ? [{ ...upload, ...change }] : [])),
    );

  const run = async ({ file, stop }: Upload) => {
    try {
      const stored = await server.upload(file, (part) => set(file, { part }), stop.signal);
      set(file, null);
      latest.current(stored);
    } catch (error) {
      if (stop.signal.aborted) set(file, null);
      else set(file, { problem: error instanceof Error ? error.message : String(error) });
    }
  };
  // start uploads one file after another, so that they keep their order.
  const start = async (files: File[]) => {
    const uploads = files.map((file): Upload => {
      const problem = file.type && !isAllowed(kinds, file.type) ? t("media.notAllowed") : "";
      return { file, part: 0, problem, stop: new AbortController() };
    });
    setRunning((old) => [...old, ...uploads]);
    for (const upload of uploads) if (!upload.problem) await run(upload);
  };
  const list = running.length > 0 && (
    <ul className="uploads">
      {running.map((upload) => (
        <li key={`${upload.file.name} ${upload.file.lastModified} ${upload.file.size}`}>
          <span className="file-name">{upload.file.name}</span>
          {upload.problem ? (
            <>
              <span role="alert" className="field-error">
                {upload.problem}
              </span>
              <Button
                className="button"
                onPress={() => {
                  const again = { ...upload, problem: "", part: 0, stop: new AbortController() };
                  set(upload.file, again);
                  void run(again);
                }}
              >
                {t("media.again")}
              </Button>
            </>
          ) : (
            <progress aria-label={t("media.progress", { name: upload.file.name })} value={upload.part} max={1} />
          )}
          <Button
            className="button"
            onPress={() => {
              upload.stop.abort();
              set(upload.file, null);
            }}
          >
            {t("app.cancel")}
          </Button>
        </li>
      ))}
    </ul>
  );
  return { start: (files: File[]) => void start(files), list };
}
