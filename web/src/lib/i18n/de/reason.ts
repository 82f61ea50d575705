import type en from '../en/reason'
import type { Figures } from '../en/reason'

const room = (w: Figures) => w.room || 'Der Raum'
const periods = { day: 'Tag', week: 'Woche', month: 'Monat' }

const de: typeof en = {
  reason: {
    room_conflict: (w) => (w.span ? `Belegt ${w.span}` : 'Belegt'),
    features: (w) => `Ohne ${w.feature}`,
    no_time_to_decide: () => 'Der Beginn ist zu nah, um die Anfrage noch rechtzeitig zu genehmigen.',
    capacity: (w) => `${room(w)} hat ${w.limit} Plätze; diese Besprechung hat ${w.actual} Personen.`,
    type_room: (w) => `${room(w)} ist für diese Besprechungsart nicht vorgesehen.`,
    type_role: () => 'Diese Besprechungsart dürfen Sie nicht buchen.',
    not_allowed: (w) => `Sie dürfen ${w.room || 'diesen Raum'} nicht buchen.`,
    room_inactive: (w) => `${room(w)} kann zurzeit nicht gebucht werden.`,
    opening_hours: (w) => `${room(w)} ist nicht durchgehend geöffnet. Öffnungszeiten: ${w.limit}.`,
    blackout: (w) => `${room(w)} ist nicht verfügbar: ${w.span}${w.reason ? ` (${w.reason})` : ''}.`,
    min_duration: (w) => `${room(w)} muss für mindestens ${w.limit} gebucht werden; hier sind es ${w.actual}.`,
    max_duration: (w) => `${w.room ? `${w.room} kann für höchstens ${w.limit} gebucht werden` : `Eine Besprechung kann höchstens ${w.limit} dauern`}; hier sind es ${w.actual}.`,
    step: (w) => `${room(w)} wird in Zeitschritten von ${w.limit} gebucht; ${w.actual} liegt dazwischen.`,
    last_change: (w) => `Besprechungen lassen sich bis ${w.limit} vor dem Beginn verschieben oder absagen${w.room ? ` (${w.room})` : ''}.`,
    min_notice: (w) => `Mindestvorlauf für ${w.room || 'den Raum'}: ${w.limit}; hier sind es ${w.actual}.`,
    max_advance: (w) => w.dated ? `Räume können bis ${w.limit} gebucht werden; hier geht es bis ${w.actual}.` : `Buchungszeitraum${w.room ? ` für ${w.room}` : ''}: höchstens ${w.limit} im Voraus; hier sind es ${w.actual}.`,
    quota: (w) => `Ihr Limit für ${w.room || 'diesen Raum'}: ${w.limit} pro ${w.per}. Bisher genutzt: ${w.used}; mit dieser Buchung wären es ${w.actual}.`,
    booked_ahead: (w) => `Sie können insgesamt höchstens ${w.limit} im Voraus buchen. Bisher genutzt: ${w.used}; mit dieser Buchung wären es ${w.actual}.`,
    rooms_at_once: (w) => `Sie können höchstens ${w.limit} Räume zur selben Zeit buchen; mit dieser Buchung wären es ${w.actual}.`,
    too_many_waits: (w) => `Sie stehen bereits auf ${w.used} Wartelisten; höchstens ${w.limit} sind möglich. Verlassen Sie zuerst eine.`,
    needs_approval: (w) => `Buchungen von ${w.room || 'diesem Raum'} müssen genehmigt werden. Stellen Sie die Anfrage auf der Webseite.`,
    too_many_dates: (w) => `Eine Serie kann höchstens ${w.limit} Termine haben.`,
    not_in_rule: (w) => `Der erste Termin muss zur Regel passen; der nächste passende ist ${w.limit}.`,
    too_far: () => 'Die Serie reicht zu weit in die Zukunft.',
    endless: () => 'Die Regel muss ein Ende haben: Ergänzen Sie COUNT oder UNTIL.',
    impossible: () => 'Kein Tag passt zu dieser Regel.',
    until_before_start: () => 'Die Regel muss nach ihrem Beginn enden.',
    overlaps_itself: () => 'Jeder Termin muss einschließlich der Puffer enden, bevor der nächste beginnt.',
    no_dates: () => 'Es ist kein Termin übrig. Behalten Sie mindestens einen.',
    sub_daily: () => 'Eine Serie kann sich höchstens einmal am Tag wiederholen.',
    unknown_part: () => 'Die Regel enthält einen unbekannten Teil.',
    invalid_part: () => 'Die Regel enthält einen ungültigen Teil.',
    duplicate_part: () => 'Die Regel enthält einen Teil doppelt.',
    unsupported: () => 'Die Regel enthält einen Teil, der nicht unterstützt wird.',
    cancelled: () => 'Abgesagt',
  },
  periods,
}

export default de
