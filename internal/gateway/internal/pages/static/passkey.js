// Passkeys: the API speaks JSON, the browser bytes.
const toBytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
const toText = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");

export const supported = () => typeof PublicKeyCredential === "function" && isSecureContext;

// suggests tells whether the browser can offer passkeys in the e-mail field.
export async function suggests() {
  return supported() && typeof PublicKeyCredential.isConditionalMediationAvailable === "function"
    && await PublicKeyCredential.isConditionalMediationAvailable();
}

const described = (list) => (list ?? []).map((one) => ({ ...one, id: toBytes(one.id) }));

// create has the browser make a passkey.
export async function create(options) {
  const publicKey = {
    ...options, challenge: toBytes(options.challenge), user: { ...options.user, id: toBytes(options.user.id) },
    excludeCredentials: described(options.excludeCredentials),
  };
  const made = await navigator.credentials.create({ publicKey });
  return {
    ...common(made),
    response: {
      clientDataJSON: toText(made.response.clientDataJSON), attestationObject: toText(made.response.attestationObject),
      transports: made.response.getTransports?.() ?? [],
    },
  };
}

// get has the browser use a passkey; with a mediation of conditional, when its owner picks one.
export async function get(options, { mediation, signal } = {}) {
  const publicKey = { ...options, challenge: toBytes(options.challenge), allowCredentials: described(options.allowCredentials) };
  const used = await navigator.credentials.get({ publicKey, mediation, signal });
  return {
    ...common(used),
    response: {
      clientDataJSON: toText(used.response.clientDataJSON), authenticatorData: toText(used.response.authenticatorData),
      signature: toText(used.response.signature), userHandle: used.response.userHandle ? toText(used.response.userHandle) : undefined,
    },
  };
}

const common = (credential) => ({
  id: credential.id, rawId: toText(credential.rawId), type: credential.type,
  authenticatorAttachment: credential.authenticatorAttachment ?? undefined, clientExtensionResults: {},
});

// declined tells that the person closed the browser's dialog, or took too long: no fault, nothing to report.
export const declined = (failure) => failure instanceof DOMException && ["NotAllowedError", "AbortError"].includes(failure.name);
