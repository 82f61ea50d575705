import type { Dictionary } from '../en'

export default {
  mine: {
    title: '我的会议',
    upcoming: '即将开始',
    past: '已过去',
    organized: '由您组织',
    invited: '邀请您参加',
    none: '暂无安排',
    noneText: '您预订的或受邀参加的会议会显示在这里。',
    nonePast: '最近 30 天没有会议',
    tomorrow: '明天',
  },
} satisfies Pick<Dictionary, 'mine'>
