
/** A user who has logged in. The jwt is missing until the user has confirmed an email address. */
export interface Session {
  jwt?: string
  user: UsersPermissionsUser
}

/** Logging in and registering, of the plugin users-permissions. */
export class Auth {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Logs a user in. Pass the jwt to `Client.withToken`. */
  login(credentials: { identifier: string; password: string }, request?: RequestOptions): Promise<Session & { jwt: string }> {
    return this.#transport.send('POST', '/auth/local', undefined, credentials, request) as Promise<Session & { jwt: string }>
  }

  register(
    user: { username: string; email: string; password: string } & Some<UsersPermissionsUserInput>,
    request?: RequestOptions,
  ): Promise<Session> {
    return this.#transport.send('POST', '/auth/local/register', undefined, user, request) as Promise<Session>
  }

  /** The user whose JWT the client has. */
  me<const Q extends SelectionParams<'plugin::users-permissions.user'> = {}>(
    params?: Q & Exact<Q, SelectionParams<'plugin::users-permissions.user'>>,
    request?: RequestOptions,
  ): Promise<Result<'plugin::users-permissions.user', Q>> {
    return this.#transport.send('GET', '/users/me', params, undefined, request) as Promise<Result<'plugin::users-permissions.user', Q>>
  }

  changePassword(
    passwords: { currentPassword: string; password: string; passwordConfirmation: string },
    request?: RequestOptions,
  ): Promise<Session & { jwt: string }> {
    return this.#transport.send('POST', '/auth/change-password', undefined, passwords, request) as Promise<Session & { jwt: string }>
  }

  async forgotPassword(email: string, request?: RequestOptions): Promise<void> {
    await this.#transport.send('POST', '/auth/forgot-password', undefined, { email }, request)
  }

  resetPassword(
    reset: { code: string; password: string; passwordConfirmation: string },
    request?: RequestOptions,
  ): Promise<Session & { jwt: string }> {
    return this.#transport.send('POST', '/auth/reset-password', undefined, reset, request) as Promise<Session & { jwt: string }>
  }
}
