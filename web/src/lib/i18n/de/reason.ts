import type en from '../en/reason'
import type { Figures } from '../en/reason'

const room = (w: Figures) => w.room || 'Der Raum'
const periods = { day: 'Tag', week: 'Woche', month: 'Monat' }

const de: typeof en = {
  reason: {
    room_conflict: (w) => (w.span ? `Belegt ${w.span}` : 'Belegt'),
    features: (w) => `Ohne ${w.feature}`,
    no_time_to_decide: () => 'Das beginnt zu bald, als dass es noch jemand genehmigen könnte.',
    capacity: (w) => `${room(w)} hat ${w.limit} Plätze, nicht ${w.actual}.`,
    room_inactive: (w) => `${room(w)} ist zurzeit nicht buchbar.`,
    opening_hours: (w) => `${room(w)} ist nicht die ganze Zeit geöffnet: ${w.limit}.`,
    blackout: (w) => `${room(w)} ist gesperrt: ${w.span}${w.reason ? ` (${w.reason})` : ''}.`,
    min_duration: (w) => `${room(w)} wird für mindestens ${w.limit} gebucht, nicht für ${w.actual}.`,
    max_duration: (w) =>
      w.room ? `${w.room} wird für höchstens ${w.limit} gebucht, nicht für ${w.actual}.` : `Ein Termin dauert höchstens ${w.limit}, nicht ${w.actual}.`,
    step: (w) => `${room(w)} wird in Schritten von ${w.limit} gebucht; ${w.actual} liegt dazwischen.`,
    min_notice: (w) => `Vorlauf für ${w.room || 'den Raum'}: mindestens ${w.limit}; hier sind es ${w.actual}.`,
    max_advance: (w) =>
      w.dated
        ? `Räume sind bis ${w.limit} buchbar, nicht bis ${w.actual}.`
        : `Vorlauf${w.room ? ` für ${w.room}` : ''}: höchstens ${w.limit}; hier sind es ${w.actual}.`,
    quota: (w) => `Ihr Kontingent für ${w.room || 'diesen Raum'}: ${w.limit} je ${w.per}; verbraucht sind ${w.used}, hiermit wären es ${w.actual}.`,
    booked_ahead: (w) => `Eine Person bucht insgesamt höchstens ${w.limit} im Voraus; verbraucht sind ${w.used}, hiermit wären es ${w.actual}.`,
    rooms_at_once: (w) => `Eine Person bucht höchstens ${w.limit} Räume zur selben Zeit; hiermit wären es ${w.actual}.`,
    too_many_waits: (w) => `Sie warten schon auf ${w.used} Termine; mehr als ${w.limit} sind nicht möglich. Geben Sie zuerst einen dieser Plätze auf.`,
    needs_approval: (w) => `Buchungen von ${w.room || 'diesem Raum'} muss jemand genehmigen: Bitte fragen Sie auf der Seite an.`,
    too_many_dates: (w) => `Eine Serie hat höchstens ${w.limit} Termine.`,
    not_in_rule: (w) => `Der erste Termin muss zur Regel passen; der nächste wäre ${w.limit}.`,
    too_far: () => 'Das reicht zu viele Jahre in die Zukunft.',
    endless: () => 'Die Regel braucht ein Ende: COUNT oder UNTIL.',
    impossible: () => 'Kein Tag passt zu dieser Regel.',
    until_before_start: () => 'Die Regel endet vor ihrem Beginn.',
    overlaps_itself: () => 'Jeder Termin muss enden, bevor der nächste beginnt. Zeiten, die davor und danach frei bleiben, zählen mit.',
    no_dates: () => 'Es bleibt kein Termin übrig.',
    sub_daily: () => 'Eine Serie wiederholt sich höchstens einmal am Tag.',
    unknown_part: () => 'Ein Teil der Regel ist unbekannt.',
    invalid_part: () => 'Ein Teil der Regel ist nicht lesbar.',
    duplicate_part: () => 'Ein Teil der Regel kommt zweimal vor.',
    unsupported: () => 'Ein Teil der Regel wird nicht unterstützt.',
    cancelled: () => 'Abgesagt',
  },
  periods,
}

export default de
