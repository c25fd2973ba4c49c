// Confirm asks before something that cannot be taken back easily.
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { t } from "../text/text.ts";

interface ConfirmProps {
  question: string;
  verb: string;
  onYes: () => void;
  onNo: () => void;
}

export function Confirm({ question, verb, onYes, onNo }: ConfirmProps) {
  return (
    <ModalOverlay className="overlay" isOpen isDismissable onOpenChange={(open) => !open && onNo()}>
      <Modal className="modal">
        <Dialog role="alertdialog">
          <Heading slot="title">{question}</Heading>
          <div className="row end">
            <Button className="button" onPress={onNo} autoFocus>{t("app.cancel")}</Button>
            <Button className="button danger" onPress={onYes}>{verb}</Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
