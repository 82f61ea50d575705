import { sentence } from '../sentence'
import type en from '../en/password'

const de: typeof en = {
  password: {
    show: 'Passwort anzeigen',
    forgot: 'Passwort vergessen?',
    forgotTitle: 'Passwort vergessen?',
    forgotLead: 'Geben Sie Ihre E-Mail-Adresse ein. Wir senden Ihnen einen Link, mit dem Sie ein neues Passwort wählen.',
    send: 'Link senden',
    sent: 'Prüfen Sie Ihre E-Mails',
    sentLead: (email) => `Wenn zu ${email} ein Konto mit Passwort gehört, erhalten Sie in wenigen Minuten einen Link. Er gilt eine Stunde.`,
    back: 'Zurück zur Anmeldung',
    resetTitle: 'Neues Passwort wählen',
    resetLead: (email) => `Für ${email}. Auf allen anderen Geräten werden Sie abgemeldet.`,
    next: 'Neues Passwort',
    endTokens: 'Auch meine API-Token widerrufen',
    endFeeds: 'Auch meine Kalenderlinks widerrufen',
    endPasskeys: 'Auch meine Passkeys entfernen',
    change: 'Passwort ändern',
    joinTitle: 'Willkommen bei Punctual',
    joinLead: (email) => sentence(`Wählen Sie ein Passwort für ${email}.`),
    join: 'Loslegen',
    invalidTitle: 'Dieser Link funktioniert nicht',
    invalid: 'Er ist abgelaufen, wurde bereits verwendet oder ist unvollständig. Fordern Sie einen neuen Link an, oder bitten Sie um eine neue Einladung.',
    request: 'Neuen Link anfordern',
  },
}

export default de
