import type en from '../en/repeat'

const every = (n: number, unit: string) => (n === 1 ? `每${unit}` : `每 ${n} ${unit}`)
const months = (n: number) => (n === 1 ? '每月' : `每 ${n} 个月`)

const zh: typeof en = {
  repeat: {
    daily: (n) => every(n, '天'),
    workdays: '每个工作日（周一至周五）',
    weekly: (n, days) => (n === 1 ? `每周的${days}` : n === 2 ? `每两周的${days}` : `每 ${n} 周的${days}`),
    monthlyDate: (n, day) => `${months(n)} ${day} 日`,
    monthlyLastDay: (n) => `${months(n)}的最后一天`,
    monthlyWeekday: (n, nth, day) => `${months(n)}的${nth}${day}`,
    yearly: (n, day) => `${every(n, '年')}的${day}`,
    nth: ['最后一个', '第一个', '第二个', '第三个', '第四个', '第五个'],
    times: (n) => `共 ${n} 次`,
    until: (date) => `直到${date}`,
    joined: (how, end) => [how, end].filter(Boolean).join('，'),
    own: '自定义规则',

    label: '重复',
    presets: {
      none: '不重复',
      day: '每天',
      workdays: '每个工作日（周一至周五）',
      custom: '自定义…',
      expert: '自定义规则（RRULE）…',
    },
    every: '每',
    units: { DAILY: '天', WEEKLY: '周', MONTHLY: '个月', YEARLY: '年' },
    unit: '单位',
    onDays: '在',
    onWhich: '在',
    ends: '结束',
    endsUntil: '于',
    endsCount: '重复',
    endsNever: '到允许的最晚日期',
    occurrences: '次后',
    missing: (day) => `没有 ${day} 日的月份将被跳过。`,
    text: '规则',
    textHint: '例如 FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1;COUNT=6。开始日期必须符合规则。',

    dates: (n) => `${n} 次会议`,
    conflicts: (n) => (n === 0 ? '全部可用' : `${n} 次不可用`),
    left: (n) => `跳过 ${n} 次`,
    preview: '各次日期',
    needRoom: '选择会议室和时间后，即可查看所有日期。',
    onConflict: '对于不可用的日期',
    conflictChoices: { fail: '逐个选择', skip: '跳过', other_room: '寻找其他会议室' },
    stay: '保持不变',
    stays: '保持不变',
    choice: (date) => `如何处理 ${date}`,
    keep: '保留',
    skip: '跳过',
    otherRoom: '其他会议室…',
    inRoom: (room) => `在${room}`,
    noOther: '没有其他可用的会议室。',
    skipped: '已跳过',
    fresh: '新增',
    itself: '当前会议',
    changed: '已更改',
    dropped: '将取消',
    unchanged: '没有更改。',
    onlyConflicts: '仅显示不可用的日期',
    unsolved: '部分日期不可用，请跳过或选择其他会议室。',
  },
}

export default zh
