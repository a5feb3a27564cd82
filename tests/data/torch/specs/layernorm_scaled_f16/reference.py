import torch


class Model(torch.nn.Module):
    """Layer normalisation without bias, scaled by a gain and by 2**k of each row; and 2**k itself."""

    def forward(self, x, g, k, eps):
        mean = x.mean(dim=1, keepdim=True)
        variance = ((x - mean) ** 2).mean(dim=1, keepdim=True)
        power = 2 ** k.long()
        return (x - mean) * torch.rsqrt(variance + eps) * g * power[:, None], power
