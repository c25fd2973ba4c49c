// Choosing files of the media library, and adding some to it.
import { useEffect, useRef, useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { t } from "../../text/text.ts";
import { type FileValue, findFiles, pageSize } from "../../files/library.ts";
import { Thumbnail } from "../../files/thumbnail.tsx";
import { UploadButton, useUploads } from "../../files/uploads.tsx";

interface FilePickerProps {
  kinds: string[] | undefined;
  isMany: boolean;
  onPick: (files: FileValue[]) => void;
  onClose: () => void;
}

// FilePicker is a dialog with the files of the library, which one searches, and uploads to.
export function FilePicker({ kinds, isMany, onPick, onClose }: FilePickerProps) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<FileValue[]>([]);
  const [hasMore, setMore] = useState(false);
  const [chosen, setChosen] = useState<FileValue[]>([]);
  const [problem, setProblem] = useState("");
  const asked = useRef(0);
  const read = (from: FileValue[]) => {
    const number = ++asked.current;
    findFiles(text, kinds, from.length).then(
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
