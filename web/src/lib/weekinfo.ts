// The first day of the week, for browsers that do not provide it: CLDR's table of territories, without
// those that begin on Monday.
const sunday =
  'AG AS BD BR BS BT BW BZ CA CO DM DO ET GT GU HK HN ID IL IN JM JP KE KH KR LA MH MM MO MT MX MZ NI NP PA PE PH PK PR PT PY SA SG SV TH TT TW UM US VE VI WS YE ZA ZW'
const saturday = 'AE AF BH DJ DZ EG IQ IR JO KW LY OM QA SD SY'
const friday = 'MV'

interface WeekInfo {
  firstDay: number
}

/** 1 for Monday to 7 for Sunday. */
export function firstDayOf(tag: string): number {
  const locale = new Intl.Locale(tag) as Intl.Locale & { getWeekInfo?(): WeekInfo; weekInfo?: WeekInfo }
  return (locale.getWeekInfo?.() ?? locale.weekInfo)?.firstDay ?? byTerritory(locale)
}

/** As in the table. */
export function byTerritory(locale: Intl.Locale): number {
  const territory = locale.maximize().region ?? ''
  const among = (table: string) => table.split(' ').includes(territory)
  return among(sunday) ? 7 : among(saturday) ? 6 : among(friday) ? 5 : 1
}
