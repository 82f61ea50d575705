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
      custom: '其他…',
      expert: '自定义规则（RFC 5545）…',
    },
    every: '每',
    units: { DAILY: '天', WEEKLY: '周', MONTHLY: '个月', YEARLY: '年' },
    unit: '单位',
    onDays: '在',
    onWhich: '在',
    ends: '结束',
    endsUntil: '于',
    endsCount: '重复',
    endsNever: '到可预订的最晚日期',
    occurrences: '次后',
    missing: (day) => `没有 ${day} 日的月份将跳过。`,
    text: '规则',
    textHint: '例如 FREQ=MONTHLY;BYDAY=MO,TU;BYSETPOS=1;COUNT=6。开始日期必须符合规则。',

    dates: (n) => `${n} 次会议`,
    conflicts: (n) => (n === 0 ? '全部可订' : `${n} 次无法预订`),
    left: (n) => `跳过 ${n} 次`,
    preview: '各次日期',
    needRoom: '选择会议室和时间后，即可查看每一次的日期。',
    onConflict: '无法预订的日期如何处理',
    conflictChoices: { fail: '逐个决定', skip: '全部跳过', other_room: '寻找其他会议室' },
    stay: '保持不变',
    stays: '保持不变',
    choice: (date) => `${date} 如何处理`,
    keep: '保留',
    skip: '跳过',
    otherRoom: '其他会议室…',
    inRoom: (room) => `在${room}`,
    noOther: '该时段没有其他空闲的会议室。',
    skipped: '已跳过',
    fresh: '新增',
    changed: '有更改',
    dropped: '将取消',
    unchanged: '没有任何更改。',
    onlyConflicts: '只看无法预订的',
    unsolved: '有些日期无法预订，请决定如何处理。',
  },
}

export default zh
