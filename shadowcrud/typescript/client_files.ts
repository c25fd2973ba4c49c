
/** What may be said about an uploaded file. */
export interface FileInfo {
  name?: string
  alternativeText?: string | null
  caption?: string | null
  focalPoint?: { x: number; y: number } | null
}
export interface UploadOptions {
  /** What to say about the file; a list for several files, in their order. */
  fileInfo?: FileInfo | readonly FileInfo[]
  /** The uid of a type, the id of one of its documents, and the media attribute that is to hold the files. */
  ref?: TypeUID
  refId?: number | string
  field?: string
}

/** Uploaded files. */
export class Files {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Uploads files. A Blob without a name is called "file". */
  upload(files: Blob | readonly Blob[], options: UploadOptions = {}, request?: RequestOptions): Promise<UploadFile[]> {
    const form = new FormData()
    const list = files instanceof Blob ? [files] : files
    for (const file of list) form.append('files', file, 'name' in file ? String(file.name) : 'file')
    const { fileInfo, ...rest } = options
    if (fileInfo !== undefined) form.append('fileInfo', JSON.stringify(fileInfo))
    for (const [name, value] of Object.entries(rest)) if (value !== undefined) form.append(name, String(value))
    return this.#transport.send('POST', '/upload', undefined, form, request) as Promise<UploadFile[]>
  }

  /** Changes what is said about a file. */
  update(id: number, fileInfo: FileInfo, request?: RequestOptions): Promise<UploadFile> {
    const form = new FormData()
    form.append('fileInfo', JSON.stringify(fileInfo))
    return this.#transport.send('POST', '/upload', { id }, form, request) as Promise<UploadFile>
  }

  find(
    params?: { filters?: Filters<'plugin::upload.file'>; sort?: Sort<'plugin::upload.file'>; start?: number; limit?: number },
    request?: RequestOptions,
  ): Promise<UploadFile[]> {
    return this.#transport.send('GET', '/upload/files', params, undefined, request) as Promise<UploadFile[]>
  }

  findOne(id: number, request?: RequestOptions): Promise<UploadFile> {
    return this.#transport.send('GET', '/upload/files' + segment(id), undefined, undefined, request) as Promise<UploadFile>
  }

  delete(id: number, request?: RequestOptions): Promise<UploadFile> {
    return this.#transport.send('DELETE', '/upload/files' + segment(id), undefined, undefined, request) as Promise<UploadFile>
  }
}
