# Part of the bppsa project, under the MIT License.
"""The benchmark networks in PyTorch: LeNet-5 and VGG-11 on 32 x 32 images, and pruning."""

import torch
from torch import nn

CLASSES = 10
# Channels of the convolutions of VGG-11; 0 is a max pool.
VGG11 = (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0)


def lenet5():
    return nn.Sequential(
        *(nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten()),
        *(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, CLASSES)),
    )


def vgg11():
    layers, channels = [], 3
    for features in VGG11:
        if features == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        layers += [nn.Conv2d(channels, features, 3, padding=1), nn.ReLU()]
        channels = features
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels, CLASSES))


NETWORKS = {"lenet5": lenet5, "vgg11": vgg11}


def make(name, pruned_percent):
    """Returns a network with seeded weights, of which the smallest are pruned."""
    torch.manual_seed(1)
    network = NETWORKS[name]()
    with torch.no_grad():
        for weights in network.parameters():
            if weights.dim() < 2 or pruned_percent == 0:
                continue
            kept = max(1, round(weights.numel() * (100 - pruned_percent) / 100))
            least = weights.abs().flatten().kthvalue(weights.numel() - kept + 1).values
            weights *= weights.abs() >= least
            # Preserves the scale of activations.
            weights *= (100 / (100 - pruned_percent)) ** 0.5
    return network
