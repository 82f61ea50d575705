/** The figures of a reason, formatted in the language; empty if the reason has none. */
export interface Figures {
  room: string
  limit: string
  actual: string
  used: string
  per: string
  span: string
  reason: string
  feature: string
  /** Whether the figures are dates rather than durations. */
  dated: boolean
}

const room = (w: Figures, otherwise = 'The room') => w.room || otherwise

export default {
  // Why a room is unavailable, or which rule is violated, by the API's code.
  reason: {
    room_conflict: (w) => (w.span ? `Taken ${w.span}` : 'Taken'),
    features: (w) => `No ${w.feature}`,
    no_time_to_decide: () => 'It starts too soon to be approved in time.',
    capacity: (w) => `${room(w)} seats ${w.limit}; this meeting has ${w.actual} people.`,
    type_room: (w) => `${room(w)} isn’t available for meetings of this type.`,
    type_role: () => 'You can’t book meetings of this type.',
    not_allowed: (w) => `You can’t book ${w.room || 'this room'}.`,
    room_inactive: (w) => `${room(w)} can’t be booked at the moment.`,
    opening_hours: (w) => `${room(w)} isn’t open for the whole meeting. Opening hours: ${w.limit}.`,
    blackout: (w) => `${room(w)} is unavailable ${w.span}${w.reason ? ` (${w.reason})` : ''}.`,
    min_duration: (w) => `${room(w)} must be booked for at least ${w.limit}; this is ${w.actual}.`,
    max_duration: (w) => `${w.room ? `${w.room} can be booked for` : 'A meeting can last'} at most ${w.limit}; this is ${w.actual}.`,
    step: (w) => `${room(w)} is booked in slots of ${w.limit}; ${w.actual} is between two slots.`,
    last_change: (w) => `Meetings can be moved or canceled until ${w.limit} before their start${w.room ? ` (${w.room})` : ''}.`,
    min_notice: (w) => `${room(w)} must be booked at least ${w.limit} ahead; this starts in ${w.actual}.`,
    max_advance: (w) => w.dated ? `Rooms can be booked until ${w.limit}; this is ${w.actual}.` : `${w.room || 'Rooms'} can be booked at most ${w.limit} ahead; this starts in ${w.actual}.`,
    quota: (w) => `You can book ${w.room || 'this room'} for at most ${w.limit} per ${w.per}. You’ve used ${w.used}; this would make ${w.actual}.`,
    booked_ahead: (w) => `You can book at most ${w.limit} ahead across all rooms. You’ve used ${w.used}; this would make ${w.actual}.`,
    rooms_at_once: (w) => `You can book at most ${w.limit} rooms at the same time; this would make ${w.actual}.`,
    too_many_waits: (w) => `You’re already on ${w.used} waiting lists; the maximum is ${w.limit}. Leave one first.`,
    needs_approval: (w) => `Bookings of ${w.room || 'this room'} need approval. Request one on the web page.`,
    too_many_dates: (w) => `A series can have at most ${w.limit} dates.`,
    not_in_rule: (w) => `The first date must match the rule; the next match is ${w.limit}.`,
    too_far: () => 'The series reaches too far into the future.',
    endless: () => 'The rule must have an end: add COUNT or UNTIL.',
    impossible: () => 'No date matches this rule.',
    until_before_start: () => 'The rule must end after it starts.',
    overlaps_itself: () => 'Each date, including room buffers, must end before the next one starts.',
    no_dates: () => 'No dates are left. Keep at least one.',
    sub_daily: () => 'A series can repeat at most once a day.',
    unknown_part: () => 'The rule contains an unknown part.',
    invalid_part: () => 'The rule contains an invalid part.',
    duplicate_part: () => 'The rule contains a part twice.',
    unsupported: () => 'The rule contains an unsupported part.',
    cancelled: () => 'Canceled',
  } as Record<string, (w: Figures) => string>,
  periods: { day: 'day', week: 'week', month: 'month' } as Record<string, string>,
}
