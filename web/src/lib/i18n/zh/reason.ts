import type en from '../en/reason'
import type { Figures } from '../en/reason'

const room = (w: Figures) => w.room || '该会议室'

const zh: typeof en = {
  reason: {
    room_conflict: (w) => (w.span ? `${w.span} 已被占用` : '已被占用'),
    features: (w) => `没有${w.feature}`,
    no_time_to_decide: () => '距离开始时间太近，来不及审批。',
    capacity: (w) => `${room(w)}有 ${w.limit} 个座位，此会议有 ${w.actual} 人。`,
    type_room: (w) => `${room(w)}不接受此类会议。`,
    type_role: () => '您无权预订此类会议。',
    not_allowed: (w) => `您无权预订${w.room || '此会议室'}。`,
    room_inactive: (w) => `${room(w)}目前无法预订。`,
    opening_hours: (w) => `${room(w)}在该时段并非全程开放。开放时间：${w.limit}。`,
    blackout: (w) => `${room(w)}不可用：${w.span}${w.reason ? `（${w.reason}）` : ''}。`,
    min_duration: (w) => `${room(w)}至少须预订 ${w.limit}，当前为 ${w.actual}。`,
    max_duration: (w) => `${w.room ? `${w.room}最多可预订` : '会议最长'} ${w.limit}，当前为 ${w.actual}。`,
    step: (w) => `${room(w)}按 ${w.limit}的时段预订，${w.actual} 不在时段边界上。`,
    last_change: (w) => `会议须在开始前 ${w.limit} 之前更改时间或取消${w.room ? `（${w.room}）` : ''}。`,
    min_notice: (w) => `${room(w)}至少须提前 ${w.limit}预订，当前为提前 ${w.actual}。`,
    max_advance: (w) => w.dated ? `会议室最晚可预订到 ${w.limit}，当前为 ${w.actual}。` : `${w.room || '会议室'}最多可提前 ${w.limit}预订，当前为提前 ${w.actual}。`,
    quota: (w) => `您在${w.room || '该会议室'}的预订上限为每${w.per} ${w.limit}，已用 ${w.used}，加上本次为 ${w.actual}。`,
    booked_ahead: (w) => `您在所有会议室最多可提前预订 ${w.limit}，已用 ${w.used}，加上本次为 ${w.actual}。`,
    rooms_at_once: (w) => `您在同一时间最多可预订 ${w.limit} 间会议室，加上本次为 ${w.actual} 间。`,
    too_many_waits: (w) => `您已在 ${w.used} 个候补名单上，上限为 ${w.limit} 个。请先退出其中一个。`,
    needs_approval: (w) => `预订${w.room || '该会议室'}需要审批，请在网页上提交申请。`,
    too_many_dates: (w) => `一个系列最多可有 ${w.limit} 次会议。`,
    not_in_rule: (w) => `首次日期必须符合规则，下一个符合的日期是 ${w.limit}。`,
    too_far: () => '系列跨越的时间太长。',
    endless: () => '规则必须有结束条件：请添加 COUNT 或 UNTIL。',
    impossible: () => '没有日期符合该规则。',
    until_before_start: () => '规则的结束时间必须晚于开始时间。',
    overlaps_itself: () => '每次会议（包括会议室的缓冲时间）必须在下一次开始之前结束。',
    no_dates: () => '没有剩余的日期，请至少保留一个。',
    sub_daily: () => '系列会议每天最多重复一次。',
    unknown_part: () => '规则中有未知的部分。',
    invalid_part: () => '规则中有无法识别的部分。',
    duplicate_part: () => '规则中有重复的部分。',
    unsupported: () => '规则中有不支持的部分。',
    cancelled: () => '已取消',
  },
  periods: { day: '天', week: '周', month: '月' },
}

export default zh
