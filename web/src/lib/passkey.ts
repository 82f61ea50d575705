/** Passkeys in this browser (Web Authentication). */

/** Whether this browser knows passkeys. */
export const supported = () => typeof PublicKeyCredential !== 'undefined' && !!navigator.credentials

/** Whether the browser offers passkeys while an address is typed. */
export async function suggests(): Promise<boolean> {
  return supported() && !!(await PublicKeyCredential.isConditionalMediationAvailable?.())
}

type Json = Record<string, unknown>

// Not all browsers in use convert from and to JSON themselves.
const bytes = (text: unknown) =>
  Uint8Array.from(atob(String(text).replace(/-/g, '+').replace(/_/g, '/')), (c) => c.charCodeAt(0))

const text = (b: ArrayBuffer | null) =>
  b ? btoa(String.fromCharCode(...new Uint8Array(b))).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '') : undefined

const listed = (keys: unknown) =>
  ((keys ?? []) as Json[]).map((k) => ({ ...k, id: bytes(k.id) })) as unknown as PublicKeyCredentialDescriptor[]

/** Creates a passkey on a device that the person chooses, and returns the answer for the server. */
export async function create(options: Json): Promise<Json> {
  const user = options.user as Json
  const made = (await navigator.credentials.create({
    publicKey: {
      ...(options as unknown as PublicKeyCredentialCreationOptions),
      challenge: bytes(options.challenge),
      user: { ...(user as unknown as PublicKeyCredentialUserEntity), id: bytes(user.id) },
      excludeCredentials: listed(options.excludeCredentials),
    },
  })) as PublicKeyCredential
  const response = made.response as AuthenticatorAttestationResponse
  return answer(made, {
    attestationObject: text(response.attestationObject),
    transports: response.getTransports?.() ?? [],
  })
}

/**
 * Asks for a passkey, and returns the answer for the server. With `suggest`, the browser only offers
 * passkeys at the field for the address, and this waits until one is chosen.
 */
export async function use(options: Json, { suggest = false, signal }: { suggest?: boolean; signal?: AbortSignal } = {}): Promise<Json> {
  const chosen = (await navigator.credentials.get({
    mediation: suggest ? 'conditional' : 'optional',
    signal,
    publicKey: {
      ...(options as unknown as PublicKeyCredentialRequestOptions),
      challenge: bytes(options.challenge),
      allowCredentials: listed(options.allowCredentials),
    },
  })) as PublicKeyCredential
  const response = chosen.response as AuthenticatorAssertionResponse
  return answer(chosen, {
    authenticatorData: text(response.authenticatorData),
    signature: text(response.signature),
    userHandle: text(response.userHandle),
  })
}

function answer(c: PublicKeyCredential, response: Json): Json {
  return {
    id: c.id,
    rawId: text(c.rawId),
    type: c.type,
    authenticatorAttachment: c.authenticatorAttachment ?? undefined,
    clientExtensionResults: {},
    response: { clientDataJSON: text(c.response.clientDataJSON), ...response },
  }
}

/** Tells the browser that the server does not know a passkey, so that it is no longer offered. */
export function forget(options: Json, given: Json) {
  const known = PublicKeyCredential as unknown as { signalUnknownCredential?: (of: Json) => Promise<void> }
  void known.signalUnknownCredential?.({ rpId: options.rpId, credentialId: given.id })?.catch(() => {})
}

/** Whether the person, or this page, ended the dialog of the browser. */
export const dismissed = (err: unknown) =>
  err instanceof DOMException && (err.name === 'NotAllowedError' || err.name === 'AbortError')

/** Whether the chosen device has a passkey for this account already. */
export const already = (err: unknown) => err instanceof DOMException && err.name === 'InvalidStateError'
